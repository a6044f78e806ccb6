import type { StopReason } from "../message/index.js";
import { endingOf } from "./anthropicEnding.js";
import { usageReader } from "./anthropicUsage.js";
import { bedrockContents } from "./bedrockContents.js";
import { bedrockFailure } from "./bedrockFailure.js";
import { EXCEPTION } from "./bedrockFrames.js";
import type { Decoded, Model, ModelDelta, StreamDecoder } from "./codec.js";
import { type Failure, failed, readFailure } from "./failure.js";
import { isRecord, parseJson } from "./json.js";
import { checkWindow, type Ending } from "./openaiChatEnding.js";

const CUT: Failure = { kind: "cut", text: "the answer broke off before its end" };

/** Reads the events of one streamed answer. What it cost is told after its end. */
export function bedrockDecoder(model: Model): StreamDecoder {
  const contents = bedrockContents();
  const usage = usageReader();
  let reason: string | null = null;
  let unreadable = false;
  let failure: Failure | null = null;

  function takeContent(told: Record<string, unknown>, event: string): ModelDelta[] {
    const index = typeof told.contentBlockIndex === "number" ? told.contentBlockIndex : 0;
    switch (event) {
      case "contentBlockStart":
        return contents.start(index, told.start);
      case "contentBlockDelta":
        return contents.grow(index, told.delta);
      case "contentBlockStop":
        contents.stop(index);
        return [];
      default:
        return [];
    }
  }

  function take(told: Record<string, unknown>, event: string): ModelDelta[] {
    switch (event) {
      case "metadata":
        usage.take(countsOf(told.usage));
        return [];
      case "messageStop":
        reason = typeof told.stopReason === "string" ? told.stopReason : "end_turn";
        return [];
      case "whole": {
        const blocks: unknown[] = Array.isArray(told.content) ? told.content : [];
        return blocks.flatMap((block, index) => contents.whole(index, block));
      }
      default:
        return reason === null ? takeContent(told, event) : [];
    }
  }

  function ending(): Ending {
    if (failure) return { stopReason: "error", failure };
    if (reason === null || unreadable) return { stopReason: "error", failure: CUT };
    return bedrockEnding(reason, contents.hasCalls());
  }

  return {
    push(data, event = "") {
      if (failure) return [];
      if (event.startsWith(EXCEPTION)) {
        if (reason === null) failure = bedrockFailure(null, event.slice(EXCEPTION.length), data);
        return [];
      }
      const told = parseJson(data);
      if (isRecord(told)) return take(told, event);
      unreadable ||= reason === null;
      return [];
    },
    end() {
      const used = usage.total();
      const { stopReason, failure } = checkWindow(ending(), used, model.window);
      const { provider, api, id } = model;
      const error = failure ? { error: failure.text, errorKind: failure.kind } : {};
      const kept = contents.finish(api).filter(({ type }) => type !== "tool_call" || mayRun(stopReason));
      return { contents: kept, usage: used, stopReason, provider, api, model: id, ...error };
    },
  };
}

/** Calls of an answer that did not end well are not to be run, so they are no part of it. */
function mayRun(stopReason: StopReason): boolean {
  return stopReason === "stop" || stopReason === "tool_use" || stopReason === "length";
}

/** The API's input has no cached token in it. */
function countsOf(usage: unknown): unknown {
  if (!isRecord(usage)) return usage;
  return {
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    cache_read_input_tokens: usage.cacheReadInputTokens,
    cache_creation_input_tokens: usage.cacheWriteInputTokens,
  };
}

/** What a stop reason means: Anthropic's words, and a few more. Total. */
function bedrockEnding(reason: string, hasCalls: boolean): Ending {
  switch (reason) {
    case "guardrail_intervened":
      return refused("a guardrail of the AWS account ended the answer");
    case "content_filtered":
      return refused("the provider's content filter ended the answer");
    case "malformed_model_output":
    case "malformed_tool_use": {
      const text = `the model wrote something that cannot be read: ${reason}`;
      return { stopReason: "error", failure: { kind: "unknown", text } };
    }
    default:
      return endingOf(reason, null, { hasCalls, endsInServerCall: false });
  }
}

function refused(text: string): Ending {
  return { stopReason: "refusal", failure: { kind: "refusal", text } };
}

/** An answer in one piece: an error, or a message from a model that does not stream. */
export function bedrockWhole(model: Model, status: number, body: string, headers?: Headers): Decoded {
  const type = headers?.get("x-amzn-errortype") ?? "";
  if (status >= 300) return failed(model, bedrockFailure(status, type, body));
  const parsed = parseJson(body);
  const message = isRecord(parsed) && isRecord(parsed.output) ? parsed.output.message : undefined;
  if (!isRecord(parsed) || !isRecord(message)) return failed(model, notAnAnswer(parsed, body));
  const decoder = bedrockDecoder(model);
  decoder.push(JSON.stringify(message), "whole");
  decoder.push(JSON.stringify({ stopReason: parsed.stopReason }), "messageStop");
  decoder.push(JSON.stringify({ usage: parsed.usage }), "metadata");
  return decoder.end();
}

function notAnAnswer(parsed: unknown, body: string): Failure {
  if (parsed === undefined && /^\s*(\{|$)/.test(body)) return CUT;
  return { kind: "unknown", text: `the server's answer is no message: ${readFailure(null, body).text}` };
}
