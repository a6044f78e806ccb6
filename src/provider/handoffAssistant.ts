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
import { fitMedia } from "./media.js";
import { type Origins, originOf, resultOrigin } from "./origin.js";
import type { Answer } from "./pairing.js";
import { wireToolName } from "./toolCallId.js";

const NO_RESULT = "There is no result for this call: it was interrupted, or its result was lost.";

/** What every message of one history is fitted with. */
export type Fitting = { target: Target; origins: Origins; giveId: (id: string) => string };

type Answered = { type: "answered_call"; call: ToolCallContent; answer: Answer | null };
type Finished = TextContent | ThinkingContent | Answered;

/** An answer of any model, with the results of its calls, as another reads it; null when nothing of it can be read. */
export function fitAssistant(
  message: AssistantMessage,
  answers: readonly (Answer | null)[],
  fitting: Fitting,
): Fitted | null {
  const { target, origins } = fitting;
  if (message.stopReason === "error") return null;
  const same =
    message.provider === target.provider && message.api === target.api && message.model === target.model;
  const from = originOf(message, origins);
  const parts: (TextPart | ThinkingPart | CallPart)[] = [];
  const results: FittedResult[] = [];
  for (const content of finishedContents(message, answers)) {
    switch (content.type) {
      case "text":
        parts.push(...fitText(content, same, target));
        break;
      case "thinking":
        parts.push(...fitThinking(content, same));
        break;
      case "answered_call": {
        const call = fitCall(content.call, same, fitting);
        parts.push(call);
        results.push(content.answer ? fitResult(call, content.answer, fitting) : missingResult(call, from));
      }
    }
  }
  return parts.length > 0 ? { role: "assistant", parts, results, from } : null;
}

/**
 * A message's contents, each call with its answer. A message that was stopped loses the calls nobody answered, and
 * the thinking it was stopped in, which is what then stands last.
 */
function finishedContents(message: AssistantMessage, answers: readonly (Answer | null)[]): Finished[] {
  let call = 0;
  const contents = message.contents.map((content): Finished => {
    if (content.type !== "tool_call") return content;
    return { type: "answered_call", call: content, answer: answers[call++] ?? null };
  });
  if (message.stopReason !== "aborted") return joinTexts(contents);
  const kept = contents.filter((content) => content.type !== "answered_call" || content.answer !== null);
  while (kept.at(-1)?.type === "thinking") kept.pop();
  return joinTexts(kept);
}

/** Texts that follow each other are pieces of one: some APIs split a sentence where a citation begins. */
function joinTexts(contents: readonly Finished[]): Finished[] {
  const joined: Finished[] = [];
  for (const content of contents) {
    const last = joined.at(-1);
    if (content.type === "text" && last?.type === "text" && !content.native && !last.native) {
      joined[joined.length - 1] = { type: "text", content: last.content + content.content };
    } else joined.push(content);
  }
  return joined;
}

/** What the model itself left on a text goes back with it; for any other model it is only a text. */
function fitText({ content, native }: TextContent, same: boolean, { api }: Target): TextPart[] {
  if (same && native?.api === api) return [{ type: "text", text: content, native }];
  return isBlank(content) ? [] : [{ type: "text", text: content }];
}

/** Verbatim for the model that thought it, also when only a signature is left of it; plain text for every other. */
function fitThinking(content: ThinkingContent, same: boolean): (TextPart | ThinkingPart)[] {
  const blank = isBlank(content.content);
  if (same) {
    const nothing = blank && content.signature === "" && content.native === undefined;
    return nothing ? [] : [{ type: "thinking", thinking: content }];
  }
  return blank || content.redacted ? [] : [{ type: "text", text: content.content }];
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

function missingResult({ id, name }: CallPart, from: Origin): FittedResult {
  return { id, name, text: NO_RESULT, isError: true, media: [], from };
}

function fitResult({ id, name }: CallPart, answer: Answer, { target, origins }: Fitting): FittedResult {
  const { content, isError, images = [], audio = [] } = answer.result;
  const fitted = [
    ...images.map((image) => fitMedia("image", image, target.takes)),
    ...audio.map((clip) => fitMedia("audio", clip, target.takes)),
  ];
  const lines = [content, ...fitted.flatMap((part) => (part.type === "text" ? [part.text] : []))];
  return {
    id,
    name,
    text: lines.filter((line) => !isBlank(line)).join("\n"),
    isError,
    media: fitted.flatMap((part) => (part.type === "text" ? [] : [part])),
    from: resultOrigin(answer, origins),
  };
}
