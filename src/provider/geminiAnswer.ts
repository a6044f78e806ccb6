import { Usage } from "../message/index.js";
import type { Decoded, Model, ModelDelta, StreamDecoder } from "./codec.js";
import { failed, type Failure } from "./failure.js";
import { contentGatherer } from "./geminiContents.js";
import { geminiBlocked, geminiEnding } from "./geminiEnding.js";
import { geminiFailure, readGeminiFailure, type TimedFailure } from "./geminiFailure.js";
import { readGeminiUsage } from "./geminiUsage.js";
import { isRecord, parseJson } from "./json.js";
import { checkWindow, type Ending } from "./openaiChatEnding.js";

/** Reads the events of one streamed answer. */
export function geminiDecoder(model: Model): StreamDecoder {
  return reader(model, { wholeWithoutReason: false });
}

/** An answer in one piece: an error, or, from a server that ignored how we asked, every chunk in a list. */
export function geminiWhole(model: Model, status: number, body: string): Decoded {
  if (status >= 300) {
    const failure = readGeminiFailure(status, body);
    return timed(failed(model, failure), failure);
  }
  const parsed = parseJson(body);
  const chunks: unknown[] = Array.isArray(parsed) ? parsed : [parsed];
  if (!chunks.some(isChunk)) return failed(model, notAnAnswer(parsed, body));
  const answer = reader(model, { wholeWithoutReason: true });
  for (const chunk of chunks) answer.take(chunk);
  return answer.end();
}

const CUT: Failure = { kind: "cut", text: "the answer broke off before its end" };

type Reader = StreamDecoder & { take(chunk: unknown): ModelDelta[] };

function reader(model: Model, { wholeWithoutReason }: { wholeWithoutReason: boolean }): Reader {
  const contents = contentGatherer(model.api);
  let counted: Record<string, unknown> = {};
  let finish: { reason: string; said: string } | null = null;
  let blocked: { reason: string; said: string } | null = null;
  let unreadable = false;
  let failure: TimedFailure | null = null;

  function takeCandidate(candidate: Record<string, unknown>): ModelDelta[] {
    const content = isRecord(candidate.content) ? candidate.content : {};
    const parts: unknown[] = Array.isArray(content.parts) ? content.parts : [];
    const deltas = parts.flatMap((part) => contents.take(part));
    const { finishReason, finishMessage } = candidate;
    if (typeof finishReason === "string" && finishReason !== "")
      finish = { reason: finishReason, said: wordsOf(finishMessage) };
    return deltas;
  }

  function takeChunk(chunk: Record<string, unknown>): ModelDelta[] {
    if (chunk.error) {
      failure = geminiFailure(null, chunk);
      return [];
    }
    // Counts that are zero are left out, and so are, now and then, those that an earlier chunk gave.
    if (isRecord(chunk.usageMetadata)) counted = { ...counted, ...chunk.usageMetadata };
    if (isRecord(chunk.promptFeedback)) {
      const { blockReason, blockReasonMessage } = chunk.promptFeedback;
      if (typeof blockReason === "string" && blockReason !== "")
        blocked = { reason: blockReason, said: wordsOf(blockReasonMessage) };
    }
    const candidate: unknown = Array.isArray(chunk.candidates) ? chunk.candidates[0] : undefined;
    return isRecord(candidate) ? takeCandidate(candidate) : [];
  }

  /** Vertex and some gateways put the chunk into a `response`. */
  function take(chunk: unknown): ModelDelta[] {
    if (failure) return [];
    if (Array.isArray(chunk)) return chunk.flatMap(take);
    if (!isRecord(chunk)) return [];
    return takeChunk(isRecord(chunk.response) ? chunk.response : chunk);
  }

  function push(data: string, event = "message"): ModelDelta[] {
    const text = data.trim();
    if (failure || text === "" || text === "[DONE]") return [];
    const chunk = parseJson(text);
    if (chunk !== undefined) return take(chunk);
    if (event === "error") failure = readGeminiFailure(null, text);
    else if (/^[{[]/.test(text) && finish === null) unreadable = true;
    return [];
  }

  function ending(): Ending {
    if (failure) return { stopReason: "error", failure };
    if (unreadable) return { stopReason: "error", failure: CUT };
    if (finish) return geminiEnding(finish.reason, finish.said, contents.hasCalls());
    if (blocked) return geminiBlocked(blocked.reason, blocked.said);
    if (wholeWithoutReason && !contents.isEmpty()) return geminiEnding("STOP", "", contents.hasCalls());
    return { stopReason: "error", failure: CUT };
  }

  return {
    take,
    push,
    end() {
      const usage = Object.keys(counted).length > 0 ? readGeminiUsage(counted) : Usage.none();
      const end = checkWindow(ending(), usage, model.window);
      const { provider, api, id } = model;
      const endedWell = ["stop", "tool_use", "length"].includes(end.stopReason);
      const error = end.failure ? { error: end.failure.text, errorKind: end.failure.kind } : {};
      const decoded = { usage, stopReason: end.stopReason, provider, api, model: id, ...error };
      return timed({ contents: contents.finish(endedWell), ...decoded }, failure);
    },
  };
}

function timed(decoded: Decoded, failure: TimedFailure | null): Decoded {
  return failure?.retryAfterMs === undefined ? decoded : { ...decoded, retryAfterMs: failure.retryAfterMs };
}

function wordsOf(said: unknown): string {
  return typeof said === "string" ? said : "";
}

function isChunk(value: unknown): boolean {
  if (!isRecord(value)) return false;
  return ["candidates", "promptFeedback", "usageMetadata", "response", "error"].some((key) => key in value);
}

function notAnAnswer(parsed: unknown, body: string): Failure {
  if (parsed === undefined && /^\s*([{[]|$)/.test(body)) return CUT;
  return {
    kind: "unknown",
    text: `the server's answer is none of this API: ${readGeminiFailure(null, body).text}`,
  };
}
