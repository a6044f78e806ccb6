import { audioToBase64, imageToBase64, readFile } from "./media.js";

/** What a provider gave us that only it understands; kept verbatim, replayed only to the API that made it. */
export type Native = { api: string; data: unknown };

export type TextContent = { type: "text"; content: string; native?: Native };
export type ImageContent = { type: "image"; images: (string | Uint8Array)[] };
export type AudioContent = { type: "audio"; audio: (string | Uint8Array)[] };
export type ThinkingContent = {
  type: "thinking";
  content: string;
  /** Opaque; the provider wants it back exactly as it gave it. */
  signature: string;
  redacted?: boolean;
  native?: Native;
};
export type ToolCallContent = {
  type: "tool_call";
  id: string;
  name: string;
  args: Record<string, unknown>;
  /** A hint for screens. */
  kind?: string;
  native?: Native;
};
export type ToolResultContent = {
  type: "tool_result";
  /** The id of the call this answers. */
  id: string;
  content: string;
  isError: boolean;
  /** For hooks and logs; never sent to a model. */
  metadata: Record<string, unknown>;
  /** Asks the agent not to call the model again; never sent to a model. */
  terminate: boolean;
  images?: (string | Uint8Array)[];
  audio?: (string | Uint8Array)[];
};

export type SystemContent = TextContent;
export type UserContent = TextContent | ImageContent | AudioContent | ToolResultContent;
export type AssistantContent = TextContent | ThinkingContent | ToolCallContent;
export type ToolContent = ToolResultContent;
export type Content = UserContent | AssistantContent;

export const TextContent = {
  of: (content: string): TextContent => ({ type: "text", content }),
};

export const ImageContent = {
  of: (...images: (string | Uint8Array)[]): ImageContent => ({ type: "image", images }),
  fromFile: (path: string): ImageContent => ({ type: "image", images: [readFile(path)] }),
  fromUrl: (url: string): ImageContent => ({ type: "image", images: [url] }),
  fromBlob: async (blob: Blob): Promise<ImageContent> => ({
    type: "image",
    images: [new Uint8Array(await blob.arrayBuffer())],
  }),
  /** `[base64, mime]` for each image; a URL gives `[url, ""]`. */
  toBase64: (content: ImageContent): [string, string][] => content.images.map(imageToBase64),
};

export const AudioContent = {
  of: (...audio: (string | Uint8Array)[]): AudioContent => ({ type: "audio", audio }),
  fromFile: (path: string): AudioContent => ({ type: "audio", audio: [readFile(path)] }),
  fromBase64: (data: string): AudioContent => ({ type: "audio", audio: [data] }),
  fromBlob: async (blob: Blob): Promise<AudioContent> => ({
    type: "audio",
    audio: [new Uint8Array(await blob.arrayBuffer())],
  }),
  /** `[base64, mime]` for each clip. */
  toBase64: (content: AudioContent): [string, string][] => content.audio.map(audioToBase64),
};

export const ThinkingContent = {
  of: (content: string, signature = ""): ThinkingContent => ({ type: "thinking", content, signature }),
};

export const ToolCallContent = {
  of: (id: string, name: string, args: Record<string, unknown> = {}): ToolCallContent => ({
    type: "tool_call",
    id,
    name,
    args,
  }),
};

export const ToolResultContent = {
  of: (
    id: string,
    content: string,
    more: Partial<Omit<ToolResultContent, "type" | "id" | "content">> = {},
  ): ToolResultContent => ({
    type: "tool_result",
    id,
    content,
    isError: false,
    metadata: {},
    terminate: false,
    ...more,
  }),
  error: (id: string, content: string): ToolResultContent =>
    ToolResultContent.of(id, content, { isError: true }),
};
