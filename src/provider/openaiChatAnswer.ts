import type { AssistantContent, StopReason } from "../message/index.js";
import { Usage } from "../message/index.js";
import type { Decoded, Model, ModelDelta, StreamDecoder } from "./codec.js";
import { type Failure, failed, failureFrom, readFailure } from "./failure.js";
import { isRecord, parseJson } from "./json.js";
import { checkWindow, type Ending, endingOf } from "./openaiChatEnding.js";
import { readReasoning, reasoningDetails } from "./openaiChatReasoning.js";
import { toolCallGatherer } from "./openaiChatToolCalls.js";
import { readUsage } from "./openaiChatUsage.js";

/** Reads the events of one streamed answer. */
export function openaiChatDecoder(model: Model): StreamDecoder {
  const pieces: Record<"text" | "thinking", string[]> = { text: [], thinking: [] };
  /** Text and thinking in the order they began; calls stand after both, as in the API's own message. */
  const order: ("text" | "thinking")[] = [];
  const details = reasoningDetails();
  const calls = toolCallGatherer();
  let usage = Usage.none();
  let finish: string | null = null;
  let done = false;
  let refused = false;
  let unreadable = false;
  let failure: Failure | null = null;

  function partOf(kind: "text" | "thinking"): number {
    const known = order.indexOf(kind);
    return known === -1 ? order.push(kind) - 1 : known;
  }

  function say(kind: "text" | "thinking", delta: string): ModelDelta[] {
    if (delta === "") return [];
    pieces[kind].push(delta);
    return [{ type: kind, part: partOf(kind), delta }];
  }

  function takeDelta(delta: Record<string, unknown>): ModelDelta[] {
    const { thought, text } = readContent(delta.content);
    const deltas = say("thinking", readReasoning(delta) || thought);
    if (Array.isArray(delta.reasoning_details)) {
      details.take(delta);
      partOf("thinking");
    }
    deltas.push(...say("text", text));
    if (typeof delta.refusal === "string" && delta.refusal !== "") {
      refused = true;
      deltas.push(...say("text", delta.refusal));
    }
    calls.take(delta.tool_calls);
    if (isRecord(delta.function_call)) calls.take([{ index: 0, function: delta.function_call }]);
    return deltas;
  }

  function takeChoice(choice: Record<string, unknown>): ModelDelta[] {
    if (isRecord(choice.usage)) usage = readUsage(choice.usage);
    if (isRecord(choice.error)) failure = failureFrom(null, choice);
    const nothingYet = order.length === 0 && calls.count() === 0;
    const whole = nothingYet && isRecord(choice.message) ? choice.message : {};
    const deltas = takeDelta(isRecord(choice.delta) ? choice.delta : whole);
    if (typeof choice.finish_reason === "string" && choice.finish_reason !== "")
      finish = choice.finish_reason;
    return deltas;
  }

  function takeChunk(chunk: unknown, event: string): ModelDelta[] {
    if (!isRecord(chunk)) return [];
    if (chunk.error || chunk.object === "error" || event === "error") {
      failure = failureFrom(null, chunk);
      return [];
    }
    if (isRecord(chunk.usage)) usage = readUsage(chunk.usage);
    const choice: unknown = Array.isArray(chunk.choices) ? chunk.choices[0] : undefined;
    return isRecord(choice) ? takeChoice(choice) : [];
  }

  function push(data: string, event = "message"): ModelDelta[] {
    const text = data.trim();
    if (text === "[DONE]") {
      done = true;
      return [];
    }
    if (done || failure || text === "") return [];
    const chunk = parseJson(text);
    if (chunk !== undefined) return takeChunk(chunk, event);
    // Some servers forget the blank line between two events.
    if (text.includes("\n")) return text.split("\n").flatMap((line) => push(line, event));
    if (event === "error") failure = readFailure(null, text);
    else if (text.startsWith("{") && finish === null) unreadable = true;
    return [];
  }

  /** Calls of an answer that did not end well are not to be run, so they are no part of it. */
  function contents(stopReason: StopReason): AssistantContent[] {
    const found = order.map((kind): AssistantContent => {
      const content = pieces[kind].join("");
      return kind === "text" ? { type: "text", content } : thinkingOf(content, details.finish(), model.api);
    });
    const endedWell = stopReason === "stop" || stopReason === "tool_use" || stopReason === "length";
    return endedWell ? [...found, ...calls.finish(model.api)] : found;
  }

  function ending(): Ending {
    if (failure) return { stopReason: "error", failure };
    if (unreadable) return { stopReason: "error", failure: CUT };
    const reason = finish ?? (done || model.quirks.finishReason === "absent" ? "stop" : null);
    if (reason === null) return { stopReason: "error", failure: CUT };
    return endingOf(reason, refused, calls.count() > 0);
  }

  return {
    push,
    end() {
      const { stopReason, failure } = checkWindow(ending(), usage, model.window);
      const { provider, api, id } = model;
      const error = failure ? { error: failure.text, errorKind: failure.kind } : {};
      return { contents: contents(stopReason), usage, stopReason, provider, api, model: id, ...error };
    },
  };
}

/** An answer in one piece: an error, or a completion from a server that does not stream. */
export function openaiChatWhole(model: Model, status: number, body: string): Decoded {
  const parsed = parseJson(body);
  if (status >= 300) return failed(model, readFailure(status, body));
  if (!isRecord(parsed) || !Array.isArray(parsed.choices)) {
    const said = isRecord(parsed) && (parsed.error || parsed.object === "error");
    return failed(model, said ? failureFrom(null, parsed) : notAnAnswer(parsed, body));
  }
  const decoder = openaiChatDecoder(model);
  decoder.push(body);
  decoder.push("[DONE]");
  return decoder.end();
}

const CUT: Failure = { kind: "cut", text: "the answer broke off before its end" };

function notAnAnswer(parsed: unknown, body: string): Failure {
  if (parsed === undefined && /^\s*(\{|$)/.test(body)) return CUT;
  return {
    kind: "unknown",
    text: `the server's answer is no chat completion: ${readFailure(null, body).text}`,
  };
}

/** Content is a string, or a list of parts, of which Mistral's may be thinking. */
function readContent(content: unknown): { thought: string; text: string } {
  if (typeof content === "string") return { thought: "", text: content };
  if (!Array.isArray(content)) return { thought: "", text: "" };
  const parts = content.filter(isRecord);
  return {
    thought: parts.map((part) => readContent(part.thinking).text).join(""),
    text: parts.map((part) => (typeof part.text === "string" ? part.text : "")).join(""),
  };
}

/** A signature inside the details is the thinking's own; the details go back to the server as they came. */
function thinkingOf(content: string, details: Record<string, unknown>[], api: string): AssistantContent {
  const signed = details.map((detail) => detail.signature).find((signature) => typeof signature === "string");
  const native = details.length > 0 ? { native: { api, data: { reasoning_details: details } } } : {};
  return { type: "thinking", content, signature: signed ?? "", ...native };
}
