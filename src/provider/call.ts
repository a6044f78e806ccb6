import { AssistantMessage, clip, newId, type ToolCallContent } from "../message/index.js";
import { codecOf } from "./apis.js";
import { priced } from "./price.js";
import type { Codec, Decoded, EncodedRequest, Fetch, Model, ModelEvent, ModelRequest } from "./codec.js";
import { type Exchange, exchange, systemTimer, type Timeouts, type Timer } from "./exchange.js";
import { failed } from "./failure.js";
import { withinMediaCount } from "./mediaCount.js";
import { retryAfterMs } from "./retryAfter.js";
import { type EncodeMemory, encodeMemory } from "./spelling.js";
import { sseReader } from "./sse.js";

export { isRetryable } from "./failure.js";
export { type EncodeMemory, encodeMemory };

export type CallOptions = {
  signal?: AbortSignal;
  /** In place of the network. */
  fetch?: Fetch;
  /** The clock that stamps the answer; the gateway hands in its own. */
  now?: () => number;
  newId?: () => string;
  timeouts?: Partial<Timeouts>;
  timer?: Timer;
};

/** A model on one's own machine may read a long conversation for minutes before it says anything. */
const TIMEOUTS: Timeouts = { firstByteMs: 300_000, idleMs: 120_000 };

/**
 * A request in the model's own spelling. Pure: a memory, in which each request of a chat leaves itself for the next,
 * changes the time it takes and no byte.
 */
export function encode(model: Model, request: ModelRequest, memory?: EncodeMemory): EncodedRequest {
  const fitting = withinMediaCount(model, request);
  const encoded = codecOf(model.api).encode(model, fitting.request, memory);
  return fitting.leftOut.length === 0
    ? encoded
    : { ...encoded, leftOut: [...encoded.leftOut, ...fitting.leftOut] };
}

/** Encode, send, and read the answer. */
export function call(
  model: Model,
  request: ModelRequest,
  options: CallOptions = {},
): AsyncGenerator<ModelEvent, void> {
  return send(model, encode(model, request), options);
}

/**
 * Sends exactly the encoded bytes, once, and gives what comes back. Never throws: an answer that failed or was
 * stopped is in the last event, `done`, with whatever text had come; it holds no tool calls.
 */
export async function* send(
  model: Model,
  encoded: EncodedRequest,
  options: CallOptions = {},
): AsyncGenerator<ModelEvent, void> {
  const codec = codecOf(model.api);
  const network = { fetch: options.fetch, now: options.now ?? Date.now };
  const open = await exchange(encoded, {
    fetch: codec.transport?.(model, network) ?? options.fetch ?? globalThis.fetch,
    signal: options.signal,
    timeouts: { ...TIMEOUTS, ...options.timeouts },
    timer: options.timer ?? systemTimer,
  });
  try {
    const decoded = withinReason(settled(yield* receive(codec, model, open), open));
    const message = stamped(withIds(withTrueNames(decoded, encoded), options), model, options);
    yield* callEvents(message);
    const failing = message.stopReason === "error";
    const asked = retryAfterMs(open.headers, options.now) ?? decoded.retryAfterMs ?? null;
    yield { type: "done", message, retryAfterMs: failing ? asked : null };
  } finally {
    // Whoever stops reading early hangs up with it.
    await open.bytes.return();
  }
}

/** Streams are recognised by how they begin: some servers call them JSON, and some JSON a stream. */
async function* receive(codec: Codec, model: Model, open: Exchange): AsyncGenerator<ModelEvent, Decoded> {
  if (open.status === 0) return failed(model, { kind: "network", text: "the server did not answer" });
  const early: Uint8Array[] = [];
  let streams = false;
  while (!streams) {
    const next = await open.bytes.next();
    if (next.done) break;
    early.push(next.value);
    const first = firstCharacter(early);
    if (first === "") continue;
    if (open.status >= 300 || "{[<".includes(first)) break;
    streams = true;
  }
  return streams
    ? yield* receiveStream(codec, model, open, early)
    : yield* receiveWhole(codec, model, open, early);
}

function firstCharacter(chunks: readonly Uint8Array[]): string {
  for (const chunk of chunks) {
    // A frame of a binary stream begins with a zero; what is read as text never does.
    const found = chunk.find((byte) => byte > 32 || byte === 0);
    if (found !== undefined) return String.fromCharCode(found);
  }
  return "";
}

async function* receiveStream(
  codec: Codec,
  model: Model,
  open: Exchange,
  early: readonly Uint8Array[],
): AsyncGenerator<ModelEvent, Decoded> {
  const reader = (await codec.reader?.()) ?? sseReader();
  const decoder = codec.decoder(model);
  let characters = 0;
  for await (const chunk of both(early, open.bytes)) {
    for (const { data, event } of reader.push(chunk)) {
      for (const delta of decoder.push(data, event)) {
        if (delta.type !== "tool_call") characters += delta.delta.length;
        yield delta;
      }
      if (characters > MOST_CHARACTERS) return decoder.end();
    }
  }
  for (const { data, event } of reader.end()) yield* decoder.push(data, event);
  return decoder.end();
}

async function* both(
  early: readonly Uint8Array[],
  later: AsyncGenerator<Uint8Array, void>,
): AsyncGenerator<Uint8Array, void> {
  yield* early;
  yield* later;
}

async function* receiveWhole(
  codec: Codec,
  model: Model,
  open: Exchange,
  early: readonly Uint8Array[],
): AsyncGenerator<ModelEvent, Decoded> {
  const chunks = [...early];
  for await (const chunk of open.bytes) chunks.push(chunk);
  const body = new TextDecoder().decode(Buffer.concat(chunks));
  const decoded = codec.decodeWhole(model, open.status, body, open.headers);
  for (const [part, content] of decoded.contents.entries()) {
    if (content.type !== "tool_call") yield { type: content.type, part, delta: content.content };
  }
  return decoded;
}

/** A stop outweighs any answer. What broke the exchange explains an answer that is not whole, and only such a one. */
function settled(decoded: Decoded, open: Exchange): Decoded {
  const problem = open.problem();
  if (problem === "aborted") {
    const { error: _, errorKind: __, ...rest } = decoded;
    return { ...rest, contents: withoutCalls(decoded), stopReason: "aborted" };
  }
  const unexplained = open.status === 0 || decoded.errorKind === "cut";
  return problem && unexplained ? { ...decoded, error: problem.text, errorKind: problem.kind } : decoded;
}

/** More than any answer has: it is kept, and read again by every turn that follows. */
const MOST_CHARACTERS = 4 * 1024 * 1024;
const MOST_CALLS = 1000;

/** An answer nobody could have meant is an error, and what is kept of it has an end. */
function withinReason(decoded: Decoded): Decoded {
  const { contents } = decoded;
  const calls = contents.filter(({ type }) => type === "tool_call").length;
  const characters = contents.reduce(
    (sum, content) => sum + (content.type === "tool_call" ? 0 : content.content.length),
    0,
  );
  if (calls <= MOST_CALLS && characters <= MOST_CHARACTERS) return decoded;
  const what = calls > MOST_CALLS ? `asks for ${calls} tools` : `has more than ${MOST_CHARACTERS} characters`;
  const kept = withoutCalls(decoded).map((content) =>
    content.type === "tool_call" ? content : { ...content, content: clip(content.content, MOST_CHARACTERS) },
  );
  return {
    ...decoded,
    contents: kept,
    stopReason: "error",
    error: `the answer ${what}`,
    errorKind: "unknown",
  };
}

function withoutCalls(decoded: Decoded): Decoded["contents"] {
  return decoded.contents.filter((content) => content.type !== "tool_call");
}

function withTrueNames(decoded: Decoded, { renamedTools }: EncodedRequest): Decoded {
  if (Object.keys(renamedTools).length === 0) return decoded;
  return mapCalls(decoded, (call) => {
    return Object.hasOwn(renamedTools, call.name)
      ? { ...call, name: renamedTools[call.name] ?? call.name }
      : call;
  });
}

/** Every call has an id of its own, also where the server gave none or one twice. */
function withIds(decoded: Decoded, options: CallOptions): Decoded {
  const seen = new Set<string>();
  return mapCalls(decoded, (call) => {
    const id = call.id === "" || seen.has(call.id) ? `call_${freshId(options).replaceAll("-", "")}` : call.id;
    seen.add(id);
    return id === call.id ? call : { ...call, id };
  });
}

function mapCalls(decoded: Decoded, change: (call: ToolCallContent) => ToolCallContent): Decoded {
  const contents = decoded.contents.map((content) =>
    content.type === "tool_call" ? change(content) : content,
  );
  return { ...decoded, contents };
}

function freshId(options: CallOptions): string {
  if (options.newId) return options.newId();
  return options.now ? newId(options.now()) : newId();
}

const MAX_ERROR = 2000;

function stamped(decoded: Decoded, model: Model, options: CallOptions): AssistantMessage {
  const { contents, error, retryAfterMs: _, ...envelope } = decoded;
  const message = AssistantMessage.of(contents, {
    ...envelope,
    ...(error === undefined ? {} : { error: clip(withoutSecrets(error, model), MAX_ERROR) }),
    id: freshId(options),
    ...(options.now ? { timestamp: options.now() } : {}),
  });
  return { ...message, usage: priced(message.usage, model.price, message.timestamp) };
}

/** Servers echo what they were sent. What is shorter than four characters keeps no secret. */
function withoutSecrets(text: string, { apiKey, signing }: Model): string {
  const secrets = [apiKey, signing?.secretAccessKey, signing?.sessionToken, signing?.accessKeyId];
  return secrets.reduce<string>(
    (rest, secret) => (secret && secret.length >= 4 ? rest.replaceAll(secret, "[key]") : rest),
    text,
  );
}

function* callEvents(message: AssistantMessage): Generator<ModelEvent, void> {
  for (const [part, content] of message.contents.entries()) {
    if (content.type !== "tool_call") continue;
    const { id, name, args } = content;
    yield { type: "tool_call", part, id, name, args };
  }
}
