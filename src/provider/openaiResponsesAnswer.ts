import { Usage } from "../message/index.js";
import type { Decoded, Model, ModelDelta, StreamDecoder } from "./codec.js";
import { type Failure, failed, readFailure } from "./failure.js";
import { isRecord, parseJson } from "./json.js";
import { checkWindow, type Ending } from "./openaiChatEnding.js";
import { readUsage } from "./openaiChatUsage.js";
import { CUT, responseEnding, responseFailure } from "./openaiResponsesEnding.js";
import { outputGatherer } from "./openaiResponsesOutput.js";

/** The events that end an answer, with the status a response has then. */
const LAST_EVENTS: ReadonlyMap<string, string> = new Map([
  ["response.completed", "completed"],
  ["response.done", "completed"],
  ["response.incomplete", "incomplete"],
  ["response.failed", "failed"],
  ["response.cancelled", "cancelled"],
]);

/** Reads the events of one streamed answer. */
export function openaiResponsesDecoder(model: Model): StreamDecoder {
  const output = outputGatherer(model.api);
  let usage = Usage.none();
  let end: { status: string; response: Record<string, unknown> } | null = null;
  let failure: Failure | null = null;
  let unreadable = false;

  function takeLast(response: Record<string, unknown>, usual: string): ModelDelta[] {
    if (isRecord(response.usage)) usage = readUsage(response.usage);
    end = { status: typeof response.status === "string" ? response.status : usual, response };
    return output.settle(response.output);
  }

  function takeEvent(type: string, event: Record<string, unknown>): ModelDelta[] {
    const usual = LAST_EVENTS.get(type);
    if (usual !== undefined) return takeLast(isRecord(event.response) ? event.response : {}, usual);
    // Servers in between report their own failures in the shape of another API.
    if (type === "error" || (!type.startsWith("response.") && isRecord(event.error))) {
      failure = responseFailure(event);
      return [];
    }
    return output.take(type, event);
  }

  function push(data: string, name = "message"): ModelDelta[] {
    const text = data.trim();
    if (end || failure || text === "" || text === "[DONE]") return [];
    const event = parseJson(text);
    if (isRecord(event)) return takeEvent(typeof event.type === "string" ? event.type : name, event);
    if (event !== undefined) return [];
    // Some servers forget the blank line between two events.
    if (text.includes("\n")) return text.split("\n").flatMap((line) => push(line, name));
    if (name === "error") failure = readFailure(null, text);
    else if (text.startsWith("{")) unreadable = true;
    return [];
  }

  function ending(): Ending {
    if (failure) return { stopReason: "error", failure };
    if (unreadable || !end) return { stopReason: "error", failure: CUT };
    return responseEnding(end.status, end.response, output.hasRefused(), output.hasCalls());
  }

  return {
    push,
    end() {
      const { stopReason, failure } = checkWindow(ending(), usage, model.window);
      const { provider, api, id } = model;
      const error = failure ? { error: failure.text, errorKind: failure.kind } : {};
      // Calls of an answer that did not end well are not to be run, so they are no part of it.
      const endedWell = stopReason === "stop" || stopReason === "tool_use" || stopReason === "length";
      return { contents: output.finish(endedWell), usage, stopReason, provider, api, model: id, ...error };
    },
  };
}

/** An answer in one piece: an error, or a response from a server that does not stream. */
export function openaiResponsesWhole(model: Model, status: number, body: string): Decoded {
  if (status >= 300) return failed(model, readFailure(status, body));
  const parsed = parseJson(body);
  const isResponse = isRecord(parsed) && (Array.isArray(parsed.output) || parsed.object === "response");
  if (!isResponse) {
    const said = isRecord(parsed) && (parsed.error || parsed.object === "error");
    return failed(model, said ? responseFailure(parsed) : notAnAnswer(parsed, body));
  }
  const decoder = openaiResponsesDecoder(model);
  decoder.push(JSON.stringify({ type: "response.completed", response: parsed }));
  return decoder.end();
}

function notAnAnswer(parsed: unknown, body: string): Failure {
  if (parsed === undefined && /^\s*(\{|$)/.test(body)) return CUT;
  return { kind: "unknown", text: `the server's answer is no response: ${readFailure(null, body).text}` };
}
