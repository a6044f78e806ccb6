import { Usage } from "../message/index.js";
import { contentGatherer } from "./aiSdkContents.js";
import { type DescribedError, failureOfError } from "./aiSdkFailure.js";
import { readAiSdkUsage } from "./aiSdkUsage.js";
import type { Decoded, Model, ModelDelta, StreamDecoder } from "./codec.js";
import { type Failure, failed, readFailure } from "./failure.js";
import { isRecord, parseJson } from "./json.js";
import { checkWindow, type Ending, endingOf } from "./openaiChatEnding.js";

const CUT: Failure = { kind: "cut", text: "the answer broke off before its end" };

type Finish = { reason: string; raw: string | null };
type Broken = ReturnType<typeof failureOfError>;

/** Reads the parts of one streamed answer. */
export function aiSdkDecoder(model: Model): StreamDecoder {
  const contents = contentGatherer(model.api);
  let usage = Usage.none();
  let finish: Finish | null = null;
  let broken: Broken | null = null;

  function take(part: Record<string, unknown>): ModelDelta[] {
    if (part.type === "error") {
      // The first one says what happened; what follows it only says that something did.
      broken ??= failureOfError(describedIn(part.error));
      return [];
    }
    if (part.type === "finish") {
      finish = readFinish(part.finishReason);
      usage = readAiSdkUsage(part.usage, model.aiSdk?.languageModel.provider ?? "", part.providerMetadata);
      return [];
    }
    return contents.take(part);
  }

  function ending(): Ending {
    if (broken) return { stopReason: "error", failure: broken.failure };
    const reason = finish && reasonOf(finish, model);
    if (!reason) return { stopReason: "error", failure: CUT };
    return endingOf(reason, false, contents.hasCalls());
  }

  return {
    push(data) {
      const part = parseJson(data);
      return isRecord(part) ? take(part) : [];
    },
    end() {
      const { stopReason, failure } = checkWindow(ending(), usage, model.window);
      const endedWell = stopReason === "stop" || stopReason === "tool_use" || stopReason === "length";
      const { provider, api, id } = model;
      return {
        contents: contents.finish(endedWell),
        usage,
        stopReason,
        provider,
        api,
        model: id,
        ...(failure ? { error: failure.text, errorKind: failure.kind } : {}),
        ...(broken && broken.retryAfterMs !== null ? { retryAfterMs: broken.retryAfterMs } : {}),
      };
    },
  };
}

/** Our transport gives nothing but streams; this is for one that was put in its place. */
export function aiSdkWhole(model: Model, status: number, body: string): Decoded {
  return failed(model, readFailure(status, body));
}

function describedIn(error: unknown): DescribedError {
  const known = isRecord(error) ? error : {};
  const text = (value: unknown): string => (typeof value === "string" ? value : "");
  const headers = Object.entries(isRecord(known.headers) ? known.headers : {});
  return {
    name: text(known.name),
    message: text(known.message),
    status: typeof known.status === "number" ? known.status : null,
    body: text(known.body),
    headers: Object.fromEntries(headers.map(([key, value]) => [key, text(value)])),
    isRetryable: known.isRetryable === true,
    code: text(known.code),
    broke: known.broke === true,
  };
}

/** A word in the second version of the interface; in the third, with the vendor's own beside it. */
function readFinish(reason: unknown): Finish {
  if (!isRecord(reason)) return { reason: String(reason), raw: null };
  return { reason: String(reason.unified), raw: typeof reason.raw === "string" ? reason.raw : null };
}

const SAID_MORE = new Set(["other", "unknown", "error"]);

/** The word as our other codecs know it; null where none was sent, which is how an answer looks that was cut. */
function reasonOf({ reason, raw }: Finish, { aiSdk, quirks }: Model): string | null {
  if (raw === "model_context_window_exceeded") return raw;
  if (!SAID_MORE.has(reason)) return reason.replace("-", "_");
  if (raw !== null) return raw;
  const tellsRaw = aiSdk?.languageModel.specificationVersion !== "v2";
  if (reason !== "unknown" && !(reason === "other" && tellsRaw)) return reason;
  return quirks.finishReason === "absent" ? "stop" : null;
}
