import type { LLMMessage, SystemMessage, UserContent, UserMessage } from "../message/index.js";
import { type Fitted, type FittedHistory, isBlank, type Target, type TextPart } from "./fitted.js";
import { type Fitting, fitAssistant } from "./handoffAssistant.js";
import { fitMedia, type MediaPart } from "./media.js";
import { leaveOut, type Origins, originOf, resultOrigin } from "./origin.js";
import { type Answer, pairResults } from "./pairing.js";
import { idGiver } from "./toolCallId.js";

/** Makes any history fit a model. Pure, and never throws on what a history holds. */
export function handoff(
  messages: readonly LLMMessage[],
  target: Target,
  origins: Origins = new Map(),
): FittedHistory {
  const leading = leadingSystem(messages);
  const history = messages.slice(leading.length);
  const { answers, unused } = pairResults(history);
  const fitting: Fitting = { target, origins, giveId: idGiver(target.ids) };
  const fitted: Fitted[] = [];
  const leftOut = unused.flatMap(({ answer, reason }) => leaveOut(resultOrigin(answer, origins), reason));
  history.forEach((message, at) => {
    if (message.role === "tool") return;
    const one = fitOne(message, answers.get(at) ?? [], fitting);
    if (one) fitted.push(one);
    else if (!isOnlyResults(message))
      leftOut.push(...leaveOut(originOf(message, origins), whyLeftOut(message)));
  });
  return {
    leading: leading.flatMap((message) => fitSystem(message, origins) ?? []),
    messages: fitted,
    leftOut,
  };
}

function fitOne(
  message: Exclude<LLMMessage, { role: "tool" }>,
  answers: readonly (Answer | null)[],
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
  for (const content of message.contents) parts.push(...fitContent(content, target));
  return parts.length > 0 ? { role: "user", parts, from: originOf(message, origins) } : null;
}

function fitContent(content: UserContent, { takes }: Target): (TextPart | MediaPart)[] {
  switch (content.type) {
    case "text":
      return isBlank(content.content) ? [] : [{ type: "text", text: content.content }];
    case "image":
      return content.images.map((image) => fitMedia("image", image, takes));
    case "audio":
      return content.audio.map((clip) => fitMedia("audio", clip, takes));
    case "tool_result":
      return [];
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
