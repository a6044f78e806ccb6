import {
  audienceOf,
  byteLength,
  type Content,
  type LLMMessage,
  type MessageRow,
  usageOfCall,
  Usage,
} from "../message/index.js";
import type { AnsweredCall, PathEntry } from "./context.js";

/** Latin letters are about four to a token; a letter that takes more bytes is a larger part of one. */
const LETTERS_PER_TOKEN = 4;
const TOKENS_PER_FURTHER_BYTE = 0.375;
/** What an API writes around each message. */
const AROUND_MESSAGE = 8;
/** A picture or a sound clip, whatever its size on disk. */
const MEDIA_TOKENS = 1600;
/** A figure so far below our own estimate is none: some servers count only what was not in their cache. */
const LEAST_BELIEVED = 1 / 8;

/** About how many tokens a text is, in any script. */
export function estimateTokens(text: string): number {
  const further = byteLength(text) - text.length;
  return Math.ceil(text.length / LETTERS_PER_TOKEN + further * TOKENS_PER_FURTHER_BYTE);
}

/** About how many tokens a message of a request is. */
export function messageTokens({ contents }: LLMMessage): number {
  return contents.reduce((sum, content) => sum + contentTokens(content), AROUND_MESSAGE);
}

function contentTokens(content: Content): number {
  switch (content.type) {
    case "text":
      return estimateTokens(content.content);
    case "thinking":
      return estimateTokens(content.content) + estimateTokens(content.signature);
    case "image":
      return content.images.length * MEDIA_TOKENS;
    case "audio":
      return content.audio.length * MEDIA_TOKENS;
    case "tool_call":
      return estimateTokens(content.name + JSON.stringify(content.args));
    case "tool_result": {
      const media = (content.images?.length ?? 0) + (content.audio?.length ?? 0);
      return estimateTokens(content.content) + media * MEDIA_TOKENS;
    }
  }
}

/** About how many tokens an entry of a path is to a model that reads it. */
export function entryTokens({ kind, message, data }: PathEntry): number {
  if (kind === "compaction" || kind === "branch_summary") {
    return typeof data.summary === "string" ? AROUND_MESSAGE + estimateTokens(data.summary) : 0;
  }
  if ((kind !== "message" && kind !== "edit") || !message || audienceOf(message).toModel === "never")
    return 0;
  return AROUND_MESSAGE + estimateTokens(wordsBeside(message)) + message.attachments.length * MEDIA_TOKENS;
}

/** About how many tokens the entries of a path are. */
export function pathTokens(path: readonly PathEntry[]): number {
  return sum(path.map(entryTokens));
}

function wordsBeside({ content, metadata }: MessageRow): string {
  const { args, signature, thread_context: thread } = metadata;
  const beside = [args === undefined ? "" : JSON.stringify(args), signature, thread];
  return [content, ...beside.filter((text) => typeof text === "string")].join(" ");
}

/** How much of a window a request fills, and by how much the true figure was above our own estimate. */
export type Filled = { tokens: number; correction: number };

/**
 * How many tokens the next request is: what the last call was told it used, and an estimate of what came after. Without
 * such a figure, or with one from before the newest compaction, all of it is estimated.
 */
export function filledTokens(
  request: { system: readonly { text: string }[]; tools: unknown; messages: readonly LLMMessage[] },
  path: readonly PathEntry[],
  calls: ReadonlyMap<string, AnsweredCall>,
  /** The model that is asked next: others count differently. */
  model: { provider: string; id: string },
): Filled {
  const { system, messages, tools } = request;
  const fixed = estimateTokens(system.map(({ text }) => text).join("\n") + JSON.stringify(tools));
  const sizes = messages.map(messageTokens);
  const recent = callsSinceCompaction(path);
  const last = messages.findLastIndex(({ role, id }) => {
    const call = role === "assistant" && recent.has(id) ? calls.get(id)?.call : undefined;
    return call?.status === "ok" && call.provider === model.provider && call.model === model.id;
  });
  const estimated = fixed + sum(sizes);
  const known = calls.get(messages[last]?.id ?? "")?.call;
  if (!known) return { tokens: estimated, correction: 1 };
  const before = fixed + sum(sizes.slice(0, last + 1));
  const told = Usage.contextSize(usageOfCall(known));
  if (told < before * LEAST_BELIEVED) return { tokens: estimated, correction: 1 };
  const correction = Math.max(1, told / before);
  return { tokens: told + Math.ceil(sum(sizes.slice(last + 1)) * correction), correction };
}

/** Calls answered behind the newest compaction: those before it were asked with more. */
function callsSinceCompaction(path: readonly PathEntry[]): ReadonlySet<string> {
  const [first] = path;
  const from = first?.kind === "compaction" ? path.findIndex(({ id }) => id === first.data.last_kept) + 1 : 0;
  return new Set(path.slice(from).flatMap(({ message }) => (message?.call_id ? [message.call_id] : [])));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
