import type {
  AssistantMessage,
  Origin,
  TextContent,
  ThinkingContent,
  ToolCallContent,
} from "../message/index.js";
import {
  type CallPart,
  type Fitted,
  type FittedResult,
  isBlank,
  type Target,
  type TextPart,
  type ThinkingPart,
} from "./fitted.js";
import { fitMedia, type MediaPart } from "./media.js";
import { type Origins, originOf, resultOrigin } from "./origin.js";
import type { Answer, Answers } from "./pairing.js";
import { wireToolName } from "./toolCallId.js";

const NO_RESULT = "There is no result for this call: it was interrupted, or its result was lost.";

/** What every message of one history is fitted with. */
export type Fitting = { target: Target; origins: Origins; giveId: (id: string) => string };

type AssistantPart = TextPart | ThinkingPart | CallPart;

/** An answer of any model, with the results of its calls, as another reads it; null when nothing of it can be read. */
export function fitAssistant(message: AssistantMessage, answers: Answers, fitting: Fitting): Fitted | null {
  const { target, origins } = fitting;
  if (message.stopReason === "error") return null;
  const same =
    message.provider === target.provider && message.api === target.api && message.model === target.model;
  const from = originOf(message, origins);
  const parts: AssistantPart[] = [];
  const results: FittedResult[] = [];
  const { contents } = message;
  const end = message.stopReason === "aborted" ? endOfStopped(message, answers) : contents.length;
  let calls = 0;
  /** Texts that follow each other are pieces of one: some APIs split a sentence where a citation begins. */
  let open: TextContent | null = null;
  for (let at = 0; at < end; at++) {
    const content = contents[at];
    if (content?.type === "text" && open && !content.native && !open.native) {
      open = { type: "text", content: open.content + content.content };
      continue;
    }
    const answer = content?.type === "tool_call" ? (answers[calls++] ?? null) : null;
    // Nobody answered it before the message was stopped: as if it were not there.
    if (content?.type === "tool_call" && answer === null && message.stopReason === "aborted") continue;
    if (open) fitText(open, same, target, parts);
    open = null;
    if (content?.type === "text") open = content;
    else if (content?.type === "thinking") fitThinking(content, same, parts);
    else if (content?.type === "tool_call") {
      const call = fitCall(content, same, fitting);
      parts.push(call);
      results.push(answer ? fitResult(call, answer, fitting) : missingResult(call, from));
    }
  }
  if (open) fitText(open, same, target, parts);
  return parts.length > 0 ? { role: "assistant", parts, results, from } : null;
}

/**
 * How many contents are left of a message that was stopped: not the thinking it was stopped in, which is what stands
 * last once the calls nobody answered are gone.
 */
function endOfStopped({ contents }: AssistantMessage, answers: Answers): number {
  let calls = contents.reduce((count, { type }) => count + (type === "tool_call" ? 1 : 0), 0);
  for (let end = contents.length; end > 0; end--) {
    const type = contents[end - 1]?.type;
    if (type === "text" || (type === "tool_call" && answers[--calls])) return end;
  }
  return 0;
}

/** What the model itself left on a text goes back with it; for any other model it is only a text. */
function fitText(
  { content, native }: TextContent,
  same: boolean,
  { api }: Target,
  parts: AssistantPart[],
): void {
  if (same && native?.api === api) parts.push({ type: "text", text: content, native });
  else if (!isBlank(content)) parts.push({ type: "text", text: content });
}

/** Verbatim for the model that thought it, also when only a signature is left of it; plain text for every other. */
function fitThinking(content: ThinkingContent, same: boolean, parts: AssistantPart[]): void {
  if (same) {
    const says = content.signature !== "" || content.native !== undefined || !isBlank(content.content);
    if (says) parts.push({ type: "thinking", thinking: content });
  } else if (!content.redacted && !isBlank(content.content)) {
    parts.push({ type: "text", text: content.content });
  }
}

function fitCall(call: ToolCallContent, same: boolean, { giveId, target }: Fitting): CallPart {
  return {
    type: "tool_call",
    id: giveId(call.id),
    name: wireToolName(call.name),
    args: call.args,
    native: same && call.native?.api === target.api ? call.native : null,
  };
}

const NO_MEDIA: FittedResult["media"] = [];

function missingResult({ id, name }: CallPart, from: Origin): FittedResult {
  return { id, name, text: NO_RESULT, isError: true, media: NO_MEDIA, from };
}

function fitResult({ id, name }: CallPart, answer: Answer, { target, origins }: Fitting): FittedResult {
  const { content, isError, images, audio } = answer.result;
  const from = resultOrigin(answer, origins);
  if (!images && !audio)
    return { id, name, text: isBlank(content) ? "" : content, isError, media: NO_MEDIA, from };
  const lines = isBlank(content) ? [] : [content];
  const media: FittedResult["media"] = [];
  const show = (part: MediaPart): void => {
    if (part.type !== "text") media.push(part);
    else lines.push(part.text);
  };
  for (const image of images ?? []) show(fitMedia("image", image, target.takes));
  for (const clip of audio ?? []) show(fitMedia("audio", clip, target.takes));
  return { id, name, text: lines.join("\n"), isError, media, from };
}
