import type {
  LeftOut,
  LLMMessage,
  Origin,
  SystemMessage,
  UserContent,
  UserMessage,
} from "../message/index.js";
import { type Fitted, type FittedHistory, isBlank, type Target, type TextPart } from "./fitted.js";
import { type Fitting, fitAssistant } from "./handoffAssistant.js";
import { fitMedia, type MediaPart } from "./media.js";
import { leaveOut, type Origins, originOf, resultOrigin, sameOrigin } from "./origin.js";
import { type Answers, type Pairing, pairing } from "./pairing.js";
import { dependsOnFiles, sameMessage } from "./sameMessage.js";
import { type IdGiver, idGiver } from "./toolCallId.js";

/** What became of one message: how it fits, if it does; and how many ids had been given before it. */
type Fit = { fitted: Fitted | null; leftOut: LeftOut[]; given: number };

/** A history that was made to fit, so that the next, which begins like it, need not be made to from its beginning. */
export type FitMemory = {
  /** Null in the place of what may have changed all the same. */
  messages: (LLMMessage | null)[];
  origins: (Origin | undefined)[];
  fits: Fit[];
  pairs: Pairing;
  ids: IdGiver | null;
};

/** A memory of nothing. */
export function fitMemory(): FitMemory {
  return { messages: [], origins: [], fits: [], pairs: pairing(), ids: null };
}

/**
 * Makes any history fit a model. Pure, and never throws on what a history holds. A memory of another history, made
 * for the same target, changes nothing but the time it takes; messages that fit as they did are the same values.
 */
export function handoff(
  messages: readonly LLMMessage[],
  target: Target,
  origins: Origins = new Map(),
  memory: FitMemory = fitMemory(),
): FittedHistory {
  const leading = leadingSystem(messages);
  const history = leading.length === 0 ? messages : messages.slice(leading.length);
  const giver = memory.ids ?? idGiver(target.ids);
  memory.ids = giver;
  const from = remember(history, origins, memory);
  giver.rewind(memory.fits[from]?.given ?? giver.count());
  memory.fits.length = from;
  const fitting: Fitting = { target, origins, giveId: giver.give };
  for (let at = from; at < history.length; at++) {
    const message = history[at];
    if (message) memory.fits.push(fitOne(message, memory.pairs.answersOf(at), fitting, giver.count()));
  }
  return {
    leading: leading.flatMap((message) => fitSystem(message, origins) ?? []),
    ...fittedIn(memory, origins),
  };
}

/** Takes over what is new in a history; gives back the first place at which it may fit otherwise than before. */
function remember(history: readonly LLMMessage[], origins: Origins, memory: FitMemory): number {
  const { messages } = memory;
  const same = countSame(history, origins, memory);
  let from = same;
  if (same < messages.length) {
    from = memory.pairs.changedSince(same);
    memory.pairs = pairing();
    for (let at = 0; at < same; at++) pairAt(history, at, memory.pairs);
    messages.length = same;
    memory.origins.length = same;
  }
  for (let at = same; at < history.length; at++) {
    from = Math.min(from, pairAt(history, at, memory.pairs));
    const message = history[at];
    if (!message) continue;
    messages.push(dependsOnFiles(message) ? null : message);
    memory.origins.push(origins.get(message.id));
  }
  return from;
}

function pairAt(history: readonly LLMMessage[], at: number, pairs: Pairing): number {
  const message = history[at];
  return message ? pairs.take(message) : at;
}

/** How many messages, from the first on, are what they were. */
function countSame(history: readonly LLMMessage[], origins: Origins, memory: FitMemory): number {
  const most = Math.min(history.length, memory.messages.length);
  for (let at = 0; at < most; at++) {
    const message = history[at];
    const before = memory.messages[at];
    if (!message || !before || !sameMessage(message, before)) return at;
    if (!sameOrigin(origins.get(message.id), memory.origins[at])) return at;
  }
  return most;
}

function fittedIn({ fits, pairs }: FitMemory, origins: Origins): Omit<FittedHistory, "leading"> {
  const messages: Fitted[] = [];
  const leftOut = pairs.unused.flatMap(({ answer, reason }) =>
    leaveOut(resultOrigin(answer, origins), reason),
  );
  for (const fit of fits) {
    if (fit.fitted) messages.push(fit.fitted);
    else leftOut.push(...fit.leftOut);
  }
  return { messages, leftOut };
}

const NOTHING_LEFT_OUT: LeftOut[] = [];

function fitOne(message: LLMMessage, answers: Answers, fitting: Fitting, given: number): Fit {
  const fitted = message.role === "tool" ? null : fitMessage(message, answers, fitting);
  const leftOut =
    fitted || message.role === "tool" || isOnlyResults(message)
      ? NOTHING_LEFT_OUT
      : leaveOut(originOf(message, fitting.origins), whyLeftOut(message));
  return { fitted, leftOut, given };
}

function fitMessage(
  message: Exclude<LLMMessage, { role: "tool" }>,
  answers: Answers,
  fitting: Fitting,
): Fitted | null {
  switch (message.role) {
    case "system":
      return fitSystem(message, fitting.origins);
    case "user":
      return fitUser(message, fitting);
    case "assistant":
      return fitAssistant(message, answers, fitting);
  }
}

function leadingSystem(messages: readonly LLMMessage[]): SystemMessage[] {
  const leading: SystemMessage[] = [];
  for (const message of messages) {
    if (message.role !== "system") break;
    leading.push(message);
  }
  return leading;
}

function fitSystem(message: SystemMessage, origins: Origins): Extract<Fitted, { role: "system" }> | null {
  const texts = message.contents.map((content) => content.content).filter((text) => !isBlank(text));
  return texts.length > 0
    ? { role: "system", text: texts.join("\n\n"), from: originOf(message, origins) }
    : null;
}

function fitUser(message: UserMessage, { target, origins }: Fitting): Fitted | null {
  const parts: (TextPart | MediaPart)[] = [];
  for (const content of message.contents) fitContent(content, target, parts);
  return parts.length > 0 ? { role: "user", parts, from: originOf(message, origins) } : null;
}

function fitContent(content: UserContent, { takes }: Target, parts: (TextPart | MediaPart)[]): void {
  switch (content.type) {
    case "text":
      if (!isBlank(content.content)) parts.push({ type: "text", text: content.content });
      return;
    case "image":
      for (const image of content.images) parts.push(fitMedia("image", image, takes));
      return;
    case "audio":
      for (const clip of content.audio) parts.push(fitMedia("audio", clip, takes));
      return;
    case "tool_result":
      return;
  }
}

function whyLeftOut(message: LLMMessage): string {
  return message.role === "assistant" && message.stopReason === "error"
    ? "the answer failed"
    : "nothing in it to send";
}

/** A user message made of results alone is not missing: its results went to their calls. */
function isOnlyResults(message: LLMMessage): boolean {
  return message.contents.length > 0 && message.contents.every((content) => content.type === "tool_result");
}
