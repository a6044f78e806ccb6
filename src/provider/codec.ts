import type { AssistantMessage, BlockKind, LLMMessage, Origin, Source, SystemPart } from "../message/index.js";

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
  /** By message id. A message without one is a block of kind `message` that came from itself. */
  origins?: ReadonlyMap<string, Origin>;
};

/** A stretch of a request body with what it came from. Concatenated, the texts are the body. */
export type EncodedBlock = { kind: BlockKind; sources: Source[]; text: string };

/** A request in an API's own spelling. No secret is in the body; keys travel in the headers alone. */
export type EncodedRequest = {
  url: string;
  headers: Record<string, string>;
  body: string;
  blocks: EncodedBlock[];
};

export const APIS = ["openai-chat", "demo"] as const;
export type Api = (typeof APIS)[number];

/** A model one can call: an API, where it lives, and the model's id there. */
export type Model = {
  /** As in `provider/model`: `openai`, `ollama`, `demo`. */
  provider: string;
  api: Api;
  id: string;
  baseUrl: string;
  apiKey: string | null;
  /** What this server does differently from the API it imitates. */
  quirks: Quirks;
};

/** How compatible servers differ, as data. */
export type Quirks = {
  maxTokensField: "max_completion_tokens" | "max_tokens";
  /** Where a system message in the middle of the history goes. */
  midSystem: "system" | "developer" | "user";
  /** Ask for usage in the stream. */
  streamUsage: boolean;
};

/** What comes out of a model while it answers. The last event is always `done`; errors are in its message. */
export type ModelEvent =
  | { type: "text"; part: number; delta: string }
  | { type: "thinking"; part: number; delta: string }
  | { type: "tool_call"; part: number; id: string; name: string; args: Record<string, unknown> }
  | { type: "done"; message: AssistantMessage; retryAfterMs: number | null };

/** One API: how a request is spelled, and how its stream reads. Pure: no clock, no network. */
export type Codec = {
  encode(model: Model, request: ModelRequest): EncodedRequest;
  decoder(model: Model): StreamDecoder;
  /** An answer that is not a stream: an HTTP error, or a server that ignored `stream`. */
  decodeWhole(model: Model, status: number, body: string): Decoded;
};

/** An answer without the stamp that whoever called gives it. */
export type Decoded = Omit<AssistantMessage, "role" | "id" | "timestamp">;

/** Fed the data of server-sent events, one at a time. */
export type StreamDecoder = {
  push(data: string): ModelDelta[];
  /** The stream ended; what it amounts to, also when it was cut. */
  end(): Decoded;
};
export type ModelDelta = Exclude<ModelEvent, { type: "done" }>;
