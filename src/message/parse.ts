import { z } from "zod";
import type { Content } from "./content.js";
import { IngestMessageMetadata } from "./ingest.js";
import { isRecord } from "./json.js";
import { type AgentMessage, ERROR_KINDS, STOP_REASONS } from "./message.js";
import { withoutUndefined } from "./present.js";
import { errorsOf, type FieldError, pathText } from "./problems.js";
import { MessageRow } from "./row.js";
import { contentShapes, type From, listOf, mediaProblem } from "./shape.js";

export type ParsedMessage = { ok: true; message: AgentMessage } | { ok: false; errors: FieldError[] };
export type ParsedMessages = { ok: true; messages: AgentMessage[] } | { ok: false; errors: FieldError[] };

export type ParsedRow = { ok: true; row: MessageRow } | { ok: false; errors: FieldError[] };

const MAX_MESSAGES = 1_000_000;
const MAX_CONTENTS = 10_000;

/**
 * A message out of data we do not trust yet. Never throws; every problem names its place.
 * `file:` media are taken only from code: from outside they would let a sender read our disk.
 */
export function parseMessage(value: unknown, { from }: { from: From }): ParsedMessage {
  const parsed = MESSAGE[from].safeParse(value);
  if (parsed.success) return { ok: true, message: parsed.data };
  return { ok: false, errors: errorsOf(parsed.error, "", value) };
}

/** A list of messages, all of them sound or none. */
export function parseMessages(value: unknown, { from }: { from: From }): ParsedMessages {
  const parsed = MESSAGES[from].safeParse(value);
  if (parsed.success) return { ok: true, messages: parsed.data };
  return { ok: false, errors: errorsOf(parsed.error, "", value) };
}

/**
 * A row read from a database. `is_from_me` and `metadata` may have their column's form (0 or 1, JSON text).
 * A tool result that names a `file:` is refused: no row of ours ever holds one.
 */
export function parseStoredRow(value: unknown): ParsedRow {
  const given = isRecord(value) ? fromColumns(value) : value;
  const parsed = STORED_ROW.safeParse(given);
  if (!parsed.success) return { ok: false, errors: errorsOf(parsed.error, "", given) };
  const errors = mediaErrors(parsed.data);
  return errors.length === 0 ? { ok: true, row: parsed.data } : { ok: false, errors };
}

const STORED_ROW = MessageRow.extend({
  timestamp: z
    .string()
    .refine((text) => !Number.isNaN(Date.parse(text)), "expected an ISO-8601 date and time"),
});

function fromColumns(row: Record<string, unknown>): Record<string, unknown> {
  const { is_from_me, metadata } = row;
  return {
    ...row,
    is_from_me: is_from_me === 0 || is_from_me === 1 ? is_from_me === 1 : is_from_me,
    metadata: typeof metadata === "string" ? jsonOf(metadata) : metadata === null ? {} : metadata,
  };
}

/** The value of JSON text; text that is none stays text, for the schema to refuse. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function mediaErrors(row: MessageRow): FieldError[] {
  if (row.sender !== "tool_result") return [];
  return (["images", "audio"] as const).flatMap((field) => {
    const media = row.metadata[field];
    if (!Array.isArray(media)) return [];
    return media.flatMap((item, index) => {
      const reason = mediaProblem(item, field === "images" ? "image" : "audio", "outside");
      return reason === null ? [] : [{ path: pathText(["metadata", field, index]), reason }];
    });
  });
}

const MAX_DATE = 8_640_000_000_000_000;
/** Milliseconds; the database and the API spell it ISO-8601. */
const timestamp = z.union([
  z.int().min(-MAX_DATE).max(MAX_DATE),
  z.iso.datetime({ offset: true }).transform((text) => Date.parse(text)),
]);
const stamp = { id: z.string().min(1).max(1024), timestamp };

const count = z.int().min(0);
const cost = z.object({
  input: z.number(),
  output: z.number(),
  cacheRead: z.number(),
  cacheWrite: z.number(),
  total: z.number(),
});
const usage = z
  .object({
    inputTokens: count,
    outputTokens: count,
    cacheReadTokens: count,
    cacheWriteTokens: count,
    reasoningTokens: count.optional(),
    longCacheWriteTokens: count.optional(),
    cost: cost.nullable(),
  })
  .transform(withoutUndefined);

/** The table of which contents a role may hold, as schemas. */
function messageShape(from: From): z.ZodType<AgentMessage> {
  const { text, image, audio, thinking, toolCall, toolResult } = contentShapes(from);
  const any: z.ZodType<Content> = z.discriminatedUnion("type", [
    text,
    image,
    audio,
    thinking,
    toolCall,
    toolResult,
  ]);
  const contents = <T extends Content>(shape: z.ZodType<T>) => listOf(shape, MAX_CONTENTS);
  const texts = contents(z.discriminatedUnion("type", [text]));

  return z.discriminatedUnion("role", [
    z.object({ role: z.literal("system"), ...stamp, contents: texts }),
    z
      .object({
        role: z.literal("user"),
        ...stamp,
        contents: contents(z.discriminatedUnion("type", [text, image, audio, toolResult])),
        sender: z.string().optional(),
        metadata: IngestMessageMetadata.optional(),
      })
      .transform(withoutUndefined),
    z
      .object({
        role: z.literal("assistant"),
        ...stamp,
        contents: contents(z.discriminatedUnion("type", [text, thinking, toolCall])),
        usage,
        stopReason: z.enum(STOP_REASONS),
        provider: z.string(),
        api: z.string(),
        model: z.string(),
        error: z.string().optional(),
        errorKind: z.enum(ERROR_KINDS).optional(),
      })
      .transform(withoutUndefined),
    z.object({
      role: z.literal("tool"),
      ...stamp,
      contents: contents(z.discriminatedUnion("type", [toolResult])),
    }),
    z.object({ role: z.literal("custom"), ...stamp, contents: contents(any), customType: z.string() }),
    z.object({ role: z.literal("branch_summary"), ...stamp, contents: texts }),
    z.object({ role: z.literal("compaction_summary"), ...stamp, contents: texts }),
    z.object({ role: z.literal("host"), ...stamp, contents: texts }),
  ]);
}

const MESSAGE = { code: messageShape("code"), outside: messageShape("outside") };
const MESSAGES = {
  code: listOf(MESSAGE.code, MAX_MESSAGES),
  outside: listOf(MESSAGE.outside, MAX_MESSAGES),
};
