import type { AiSdkCallOptions } from "./aiSdkBridge.js";
import { describeError } from "./aiSdkFailure.js";
import type { Fetch, Model, Network } from "./codec.js";
import { isRecord, parseJson } from "./json.js";

/**
 * What stands in for the network: hands the very bytes of the request, parsed, to the language model, and gives its
 * parts as server-sent events. Never rejects: what the language model throws comes as an event too.
 */
export function aiSdkTransport({ aiSdk }: Model, { fetch }: Network): Fetch {
  if (fetch) return fetch;
  return async (_url, init) => {
    if (!aiSdk) return eventsOf(failing(NO_LANGUAGE_MODEL));
    const signal = init.signal ?? undefined;
    try {
      const { stream } = await aiSdk.languageModel.doStream(callOptions(String(init.body), signal));
      const reader = stream.getReader();
      if (signal?.aborted) await reader.cancel();
      return eventsOf(reader);
    } catch (error) {
      return eventsOf(failing(error));
    }
  };
}

/** By a name of the AI SDK's own, which says that nobody need try again. */
const NO_LANGUAGE_MODEL = Object.assign(
  new Error("there is no language model behind it: make one by aiSdkModel(languageModel)"),
  { name: "AI_LoadSettingError" },
);

/** The request as the language model wants it: the address of a file is an object there, and a string in JSON. */
function callOptions(body: string, signal: AbortSignal | undefined): AiSdkCallOptions {
  const parsed = parseJson(body);
  const prompt = isRecord(parsed) && Array.isArray(parsed.prompt) ? parsed.prompt : [];
  return {
    ...(isRecord(parsed) ? parsed : {}),
    prompt: prompt.map(withAddresses),
    ...(signal ? { abortSignal: signal } : {}),
  };
}

function withAddresses(message: unknown): unknown {
  if (!isRecord(message) || !Array.isArray(message.content)) return message;
  return { ...message, content: message.content.map(withAddress) };
}

function withAddress(part: unknown): unknown {
  if (!isRecord(part) || part.type !== "file" || typeof part.data !== "string") return part;
  return /^https?:/.test(part.data) ? { ...part, data: new URL(part.data) } : part;
}

/** Where parts come from: a stream of them, or one that is over when it begins. */
type Parts = {
  read(): Promise<{ done: boolean; value?: unknown }>;
  cancel(reason?: unknown): Promise<void>;
};

function failing(error: unknown): Parts {
  return { read: () => Promise.reject(error), cancel: async () => {} };
}

function eventsOf(parts: Parts): Response {
  const encoder = new TextEncoder();
  let begun = false;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        for (;;) {
          const { done, value } = await parts.read();
          if (done) return controller.close();
          begun = true;
          const event = eventOf(value);
          if (event === null) continue;
          return controller.enqueue(encoder.encode(`data: ${event}\n\n`));
        }
      } catch (error) {
        const event = JSON.stringify({ type: "error", error: describeError(error, begun) });
        controller.enqueue(encoder.encode(`data: ${event}\n\n`));
        controller.close();
      }
    },
    cancel: (reason) => parts.cancel(reason),
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

const READ = /^(text|reasoning|tool-input)-(start|delta|end)$|^(tool-call|finish)$/;

/** A part as JSON; null for one that is nothing to us. Half a character stays half: the other half is in the next part. */
function eventOf(part: unknown): string | null {
  if (!isRecord(part) || typeof part.type !== "string") return null;
  if (part.type === "error") return JSON.stringify({ type: "error", error: describeError(part.error) });
  if (part.type === "file") return JSON.stringify({ type: "file", mediaType: part.mediaType });
  return READ.test(part.type) ? JSON.stringify(part) : null;
}
