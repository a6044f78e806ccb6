import type {
  AssistantMessage,
  BlockKind,
  LeftOut,
  LLMMessage,
  Origin,
  Source,
  SystemPart,
} from "../message/index.js";
import type { AiSdkBridge } from "./aiSdkBridge.js";
import type { EncodeMemory } from "./spelling.js";
import type { SseReader } from "./sse.js";

/** A tool as a model is told about it. */
export type ToolDefinition = { name: string; description: string; parameters: Record<string, unknown> };

/** What we want to say to a model, before any API's spelling. */
export type ModelRequest = {
  system?: string | SystemPart[];
  messages: LLMMessage[];
  tools?: ToolDefinition[];
  maxTokens?: number;
  temperature?: number;
  thinking?: "off" | "low" | "medium" | "high";
  cache?: boolean;
  /**
   * By message id. A message without one is a block of kind `message` that came from itself.
   * A tool message with as many sources as results has one source for each, in order.
   */
  origins?: ReadonlyMap<string, Origin>;
  /** Which turn this is for. Told to an agent outside this process; no model API has a place for it. */
  about?: RequestAbout;
};

/** The turn a request is made for. */
export type RequestAbout = { chat_jid: string; turn_id: string; assistant_name: string; time_zone: string };

/** A stretch of a request body with what it came from. Concatenated, the texts are the body. */
export type EncodedBlock = { kind: BlockKind; sources: Source[]; text: string };

/** A request in an API's own spelling. No secret is in the body; keys travel in the headers alone. */
export type EncodedRequest = {
  url: string;
  headers: Record<string, string>;
  body: string;
  blocks: EncodedBlock[];
  /** Messages that could not be part of it, and why: an answer that failed, a result without its call, … */
  leftOut: LeftOut[];
  /** Tools the API could not spell, by the name it was given instead; calls come back under the true name. */
  renamedTools: Record<string, string>;
  /** These bytes follow those of the call before them into the same ears: they are not a whole request. */
  follows?: boolean;
};

export const APIS = [
  "openai-chat",
  "anthropic",
  "openai-responses",
  "gemini",
  "bedrock",
  "ai-sdk",
  "demo",
  "container",
] as const;
export type Api = (typeof APIS)[number];

/** A model one can call: an API, where it lives, and the model's id there. */
export type Model = {
  /** As in `provider/model`: `openai`, `ollama`, `demo`. */
  provider: string;
  api: Api;
  id: string;
  baseUrl: string;
  apiKey: string | null;
  /** For an API whose requests are signed rather than sent with a key. As secret as a key. */
  signing?: Signing;
  /** How many tokens fit, when known: some servers cut a longer request silently and report success. */
  window: number | null;
  /** The longest answer in tokens, when known. */
  maxOutput?: number | null;
  /** What this server does differently from the API it imitates. */
  quirks: Quirks;
  /** What it costs; null when that is not known. */
  price: Price | null;
  /** The demo's pause between a few words. */
  delayMs: number;
  /** For an agent outside this process: what it is told of how far it may go, and which model is wanted. */
  outside?: { steps: number; timeMs: number; idleMs: number; model: string | null };
  /** For a language model of the AI SDK, which lives in this process: itself. */
  aiSdk?: AiSdkBridge;
};

/** The keys AWS gives out. Requests are signed with the secret one, which never leaves. */
export type Signing = {
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
  /** For keys that hold for some hours only. */
  sessionToken: string | null;
};

/** US dollars for a million tokens of each class. */
export type Rates = {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  /** What is kept in the cache for an hour; like any cache write where nothing is said. */
  longCacheWrite?: number;
};

/** What a model costs: other rates may hold for a long request, from a date on, or at some hours of the day. */
export type Price = Rates & {
  /** For requests of more tokens than these, the largest that is exceeded. */
  above?: readonly (Rates & { tokens: number })[];
  /** Instead of all the rest; of several that hold, the last. */
  when?: readonly (PriceTime & { price: Price })[];
};

/** From a moment on (milliseconds), or in these hours of each day (seconds since midnight, UTC; may pass midnight). */
export type PriceTime = { from: number } | { hours: readonly [start: number, end: number] };

/** What is known about a model. Null: nobody said. */
export type ModelFacts = {
  window: number | null;
  maxOutput: number | null;
  /** What it takes beside text. */
  images: boolean | null;
  audio: boolean | null;
  pdf: boolean | null;
  thinking: boolean | null;
  tools: boolean | null;
  price: Price | null;
};

/** How servers that speak one API differ, as data. */
export type Quirks = {
  maxTokensField: "max_completion_tokens" | "max_tokens";
  /** The role of the system prompt; `user` for models that refuse both others. */
  systemRole: "system" | "developer" | "user";
  /** Where a system message in the middle of the history goes. */
  midSystem: "system" | "developer" | "user";
  /** Ask for usage in the stream. */
  streamUsage: boolean;
  images: boolean;
  audio: boolean;
  /** Which tool-call ids it takes: up to 40 characters, or Mistral's nine. */
  toolCallIds: "upTo40" | "exactly9";
  /** The field in which a server without signatures wants a tool-calling answer's own reasoning back. */
  replayReasoning: "none" | "reasoning_content" | "reasoning";
  /** How `thinking` is spelled. */
  effort: "none" | "reasoning_effort" | "reasoning";
  /** Tool results carry the tool's name. */
  toolResultName: boolean;
  /** An assistant message must stand between tool results and the next user message. */
  assistantAfterTools: boolean;
  /** The server never says why it stopped: a stream that ends cleanly is whole. */
  finishReason: "sent" | "absent";
};

/** What comes out of a model while it answers. The last event is always `done`; errors are in its message. */
export type ModelEvent =
  | { type: "text"; part: number; delta: string }
  | { type: "thinking"; part: number; delta: string }
  | { type: "tool_call"; part: number; id: string; name: string; args: Record<string, unknown> }
  | { type: "done"; message: AssistantMessage; retryAfterMs: number | null };

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** What a transport works with. */
export type Network = {
  /** What was given in place of the network, if anything. */
  fetch: Fetch | undefined;
  now: () => number;
};

/** One API: how a request is spelled, and how its stream reads. Pure: no clock, no network. */
export type Codec = {
  /** With a memory of the chat's last request, what did not change since is not encoded again; the bytes are the same. */
  encode(model: Model, request: ModelRequest, memory?: EncodeMemory): EncodedRequest;
  decoder(model: Model): StreamDecoder;
  /** An answer that is not a stream: an HTTP error, or a server that ignored `stream`. */
  decodeWhole(model: Model, status: number, body: string, headers?: Headers): Decoded;
  /** For an API that lives in this process, or that wants requests signed: what stands between us and the network. */
  transport?(model: Model, network: Network): Fetch;
  /** For streams that are not server-sent events: reads theirs from the bytes. */
  reader?(): Promise<SseReader>;
};

/** An answer without the stamp that whoever called gives it. */
export type Decoded = Omit<AssistantMessage, "role" | "id" | "timestamp"> & {
  /** When to try again, where the server says so in its answer and not in a header. */
  retryAfterMs?: number;
};

/** Fed server-sent events, one at a time. `part` of a delta is the index its content has in the end. */
export type StreamDecoder = {
  push(data: string, event?: string): ModelDelta[];
  /** The stream ended; what it amounts to, also when it was cut. */
  end(): Decoded;
};
export type ModelDelta = Exclude<ModelEvent, { type: "done" }>;
