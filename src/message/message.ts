import {
  type AssistantContent,
  AudioContent,
  type Content,
  ImageContent,
  type SystemContent,
  TextContent,
  type ThinkingContent,
  type ToolCallContent,
  type ToolContent,
  type ToolResultContent,
  type UserContent,
} from "./content.js";
import { newId } from "./id.js";
import type { IngestMessageMetadata } from "./ingest.js";
import type { Usage } from "./usage.js";

type Stamp = {
  /** Unique, sortable by time. */
  id: string;
  /** Milliseconds since 1970; ISO-8601 in the database and the API. */
  timestamp: number;
};

export const STOP_REASONS = ["stop", "length", "tool_use", "refusal", "aborted", "error"] as const;
export type StopReason = (typeof STOP_REASONS)[number];

export const ERROR_KINDS = [
  "rate_limit",
  "overloaded",
  "overflow",
  "auth",
  "quota",
  "invalid_request",
  "refusal",
  "network",
  "timeout",
  "cut",
  "unknown",
] as const;
export type ErrorKind = (typeof ERROR_KINDS)[number];

export type SystemMessage = Stamp & { role: "system"; contents: SystemContent[] };
export type UserMessage = Stamp & {
  role: "user";
  contents: UserContent[];
  sender?: string;
  metadata?: IngestMessageMetadata;
};
export type AssistantMessage = Stamp & {
  role: "assistant";
  contents: AssistantContent[];
  usage: Usage;
  stopReason: StopReason;
  provider: string;
  api: string;
  model: string;
  /** What went wrong, for people; its kind is for programs. */
  error?: string;
  errorKind?: ErrorKind;
};
export type ToolMessage = Stamp & { role: "tool"; contents: ToolContent[] };
export type CustomMessage = Stamp & { role: "custom"; contents: Content[]; customType: string };
export type BranchSummaryMessage = Stamp & { role: "branch_summary"; contents: TextContent[] };
export type CompactionSummaryMessage = Stamp & { role: "compaction_summary"; contents: TextContent[] };
export type HostMessage = Stamp & { role: "host"; contents: TextContent[] };

/** The only messages a codec accepts: a host message cannot reach a model, the compiler sees to it. */
export type LLMMessage = SystemMessage | UserMessage | AssistantMessage | ToolMessage;
export type AgentMessage =
  | LLMMessage
  | CustomMessage
  | BranchSummaryMessage
  | CompactionSummaryMessage
  | HostMessage;
export type Role = AgentMessage["role"];

const stamp = (given: Partial<Stamp>): Stamp => {
  const timestamp = given.timestamp ?? Date.now();
  return { id: given.id ?? newId(timestamp), timestamp };
};
const joined = (contents: readonly Content[]): string =>
  contents.flatMap((content) => (content.type === "text" ? [content.content] : [])).join("");

type UserDetails = Partial<Pick<UserMessage, "id" | "timestamp" | "sender" | "metadata">>;

export const UserMessage = {
  text: (text: string, details: UserDetails = {}): UserMessage =>
    UserMessage.of([TextContent.of(text)], details),
  withImages: (text: string, images: (string | Uint8Array)[], details: UserDetails = {}): UserMessage =>
    UserMessage.of([TextContent.of(text), ImageContent.of(...images)], details),
  withAudio: (text: string, audio: (string | Uint8Array)[], details: UserDetails = {}): UserMessage =>
    UserMessage.of([TextContent.of(text), AudioContent.of(...audio)], details),
  of: (contents: UserContent[], details: UserDetails = {}): UserMessage => ({
    role: "user",
    contents,
    ...stamp(details),
    ...(details.sender === undefined ? {} : { sender: details.sender }),
    ...(details.metadata === undefined ? {} : { metadata: details.metadata }),
  }),
};

export const SystemMessage = {
  text: (text: string, details: Partial<Stamp> = {}): SystemMessage => ({
    role: "system",
    contents: [TextContent.of(text)],
    ...stamp(details),
  }),
};

export const AssistantMessage = {
  of: (
    contents: AssistantContent[],
    envelope: Omit<AssistantMessage, "role" | "contents" | "id" | "timestamp"> & Partial<Stamp>,
  ): AssistantMessage => ({ role: "assistant", contents, ...envelope, ...stamp(envelope) }),
  /** All text, joined. */
  textContent: (message: AssistantMessage): string => joined(message.contents),
  toolCalls: (message: AssistantMessage): ToolCallContent[] =>
    message.contents.filter((content) => content.type === "tool_call"),
  thinking: (message: AssistantMessage): ThinkingContent[] =>
    message.contents.filter((content) => content.type === "thinking"),
};

export const ToolMessage = {
  fromResult: (result: ToolResultContent, details: Partial<Stamp> = {}): ToolMessage =>
    ToolMessage.fromResults([result], details),
  fromResults: (results: ToolResultContent[], details: Partial<Stamp> = {}): ToolMessage => ({
    role: "tool",
    contents: results,
    ...stamp(details),
  }),
};

export const CustomMessage = {
  of: (customType: string, contents: Content[], details: Partial<Stamp> = {}): CustomMessage => ({
    role: "custom",
    customType,
    contents,
    ...stamp(details),
  }),
};

export const HostMessage = {
  text: (text: string, details: Partial<Stamp> = {}): HostMessage => ({
    role: "host",
    contents: [TextContent.of(text)],
    ...stamp(details),
  }),
};

export const BranchSummaryMessage = {
  text: (summary: string, details: Partial<Stamp> = {}): BranchSummaryMessage => ({
    role: "branch_summary",
    contents: [TextContent.of(summary)],
    ...stamp(details),
  }),
};

export const CompactionSummaryMessage = {
  text: (summary: string, details: Partial<Stamp> = {}): CompactionSummaryMessage => ({
    role: "compaction_summary",
    contents: [TextContent.of(summary)],
    ...stamp(details),
  }),
};
