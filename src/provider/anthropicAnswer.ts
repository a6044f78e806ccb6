import type { AssistantContent, StopReason } from "../message/index.js";
import { contentGatherer } from "./anthropicContents.js";
import { endingOf } from "./anthropicEnding.js";
import { usageReader } from "./anthropicUsage.js";
import type { Decoded, Model, ModelDelta, StreamDecoder } from "./codec.js";
import { type Failure, failed, failureFrom, readFailure } from "./failure.js";
import { isRecord, parseJson } from "./json.js";
import { checkWindow, type Ending } from "./openaiChatEnding.js";

const CUT: Failure = { kind: "cut", text: "the answer broke off before its end" };

/** Reads the events of one streamed answer. */
export function anthropicDecoder(model: Model): StreamDecoder {
  const contents = contentGatherer();
  const usage = usageReader();
  let reason: string | null = null;
  let details: unknown = null;
  let done = false;
  let unreadable = false;
  let failure: Failure | null = null;

  /** Why the answer stopped is told at its end; an answer in one piece tells it together with the rest. */
  function takeStop(told: Record<string, unknown>): void {
    if (typeof told.stop_reason === "string" && told.stop_reason !== "") reason = told.stop_reason;
    if (isRecord(told.stop_details)) details = told.stop_details;
  }

  function takeMessage(message: Record<string, unknown>): ModelDelta[] {
    usage.take(message.usage);
    takeStop(message);
    const blocks: unknown[] = Array.isArray(message.content) ? message.content : [];
    return blocks.flatMap((block, index) => contents.start(index, block));
  }

  function takeEvent(event: Record<string, unknown>, type: string): ModelDelta[] {
    const index = typeof event.index === "number" ? event.index : 0;
    switch (type) {
      case "message_start":
        return isRecord(event.message) ? takeMessage(event.message) : [];
      case "content_block_start":
        return contents.start(index, event.content_block);
      case "content_block_delta":
        return contents.grow(index, event.delta);
      case "message_delta":
        usage.take(event.usage);
        if (isRecord(event.delta)) takeStop(event.delta);
        return [];
      case "message_stop":
        done = true;
        return [];
      case "message":
        done = true;
        return takeMessage(event);
      case "error":
        failure = failureFrom(null, event);
        return [];
      default:
        return [];
    }
  }

  function push(data: string, event = "message"): ModelDelta[] {
    const text = data.trim();
    if (done || failure || text === "") return [];
    const parsed = parseJson(text);
    if (isRecord(parsed)) return takeEvent(parsed, typeOf(parsed, event));
    // An object that cannot be read was cut, also when it was to be an error.
    if (text.startsWith("{")) unreadable = true;
    else if (event === "error") failure = readFailure(null, text);
    return [];
  }

  function ending(): Ending {
    if (failure) return { stopReason: "error", failure };
    if (!done || unreadable) return { stopReason: "error", failure: CUT };
    return endingOf(reason ?? "end_turn", details, {
      hasCalls: contents.hasCalls(),
      endsInServerCall: contents.endsInServerCall(),
    });
  }

  return {
    push,
    end() {
      const used = usage.total();
      const { stopReason, failure } = checkWindow(ending(), used, model.window);
      const { provider, api, id } = model;
      const error = failure ? { error: failure.text, errorKind: failure.kind } : {};
      const kept = keptOf(contents.finish(api), stopReason);
      return { contents: kept, usage: used, stopReason, provider, api, model: id, ...error };
    },
  };
}

/** What an event is stands in it; servers that leave it out name the event. */
function typeOf(event: Record<string, unknown>, name: string): string {
  if (typeof event.type === "string") return event.type;
  return isRecord(event.error) ? "error" : name === "message" ? "" : name;
}

/** Calls of an answer that did not end well are not to be run, so they are no part of it. */
function keptOf(contents: AssistantContent[], stopReason: StopReason): AssistantContent[] {
  const endedWell = stopReason === "stop" || stopReason === "tool_use" || stopReason === "length";
  return endedWell ? contents : contents.filter((content) => content.type !== "tool_call");
}

/** An answer in one piece: an error, or a message from a server that does not stream. */
export function anthropicWhole(model: Model, status: number, body: string): Decoded {
  if (status >= 300) return failed(model, readFailure(status, body));
  const parsed = parseJson(body);
  if (isRecord(parsed) && (parsed.type === "error" || isRecord(parsed.error)))
    return failed(model, failureFrom(null, parsed));
  if (!isRecord(parsed) || !Array.isArray(parsed.content)) return failed(model, notAnAnswer(parsed, body));
  const decoder = anthropicDecoder(model);
  decoder.push(JSON.stringify({ ...parsed, type: "message" }));
  return decoder.end();
}

function notAnAnswer(parsed: unknown, body: string): Failure {
  if (parsed === undefined && /^\s*(\{|$)/.test(body)) return CUT;
  return { kind: "unknown", text: `the server's answer is no message: ${readFailure(null, body).text}` };
}
