import { z } from "zod";
import { isRecord, jsonProblem } from "./json.js";
import { decodeHead, imageBytesProblem, pointsAtFile, readMediaString } from "./media.js";
import { withoutUndefined } from "./present.js";
import { describeValue, explained } from "./problems.js";

/** Who built the data: code of this process, or anybody else (HTTP, a channel, an import, a stored row). */
export type From = "code" | "outside";

const MAX_MEDIA = 1_000;
/** Opaque data may be large, but must be JSON that a recursive writer survives. */
const OPAQUE_LIMITS = { depth: 256, bytes: Number.POSITIVE_INFINITY, wellFormed: false };
/** After so many problems the rest of a list is not looked at. */
const ENOUGH_PROBLEMS = 50;

/** Why a media item cannot be taken, or null when it can. */
export function mediaProblem(value: unknown, kind: "image" | "audio", from: From): string | null {
  if (value instanceof Uint8Array) {
    if (value.length === 0) return `expected ${kind === "image" ? "an image" : "audio"}, got no bytes`;
    return kind === "image" ? imageBytesProblem(value) : null;
  }
  if (typeof value === "string") return mediaStringProblem(value, kind, from);
  if (typeof Blob !== "undefined" && value instanceof Blob)
    return "expected bytes; read a Blob first, with fromBlob(blob)";
  return `expected ${MEDIA_WORDS[kind]}, or bytes, got ${describeValue(value)}`;
}

const MEDIA_WORDS = { image: "an http(s) URL, a data: URL or base64", audio: "a data: URL or base64" };

function mediaStringProblem(text: string, kind: "image" | "audio", from: From): string | null {
  if (from === "outside" && pointsAtFile(text)) {
    return `a file: path is taken only from code in this process; expected ${MEDIA_WORDS[kind]}`;
  }
  const media = readMediaString(text);
  switch (media.form) {
    case "file":
      return null;
    case "url":
      return kind === "image" ? null : `expected ${MEDIA_WORDS.audio}, got a URL`;
    case "data":
      return kind === "image" ? imageBytesProblem(decodeHead(media.base64), media.mime) : null;
    case "base64":
      return kind === "image" ? imageBytesProblem(decodeHead(media.base64)) : null;
    case "invalid":
      return `${media.why}; expected ${MEDIA_WORDS[kind]}`;
  }
}

/** A list read item by item, so that a hostile one is left at its fiftieth problem. */
export function listOf<T>(item: z.ZodType<T>, most: number) {
  return z
    .array(z.unknown())
    .max(most)
    .transform((given, context): T[] => {
      const list: T[] = [];
      for (let index = 0; index < given.length; index++) {
        const parsed = item.safeParse(given[index]);
        if (parsed.success) list.push(parsed.data);
        else
          for (const { path, reason } of explained(parsed.error, given[index])) {
            context.issues.push({
              code: "custom",
              input: given[index],
              path: [index, ...path],
              message: reason,
            });
          }
        if (context.issues.length >= ENOUGH_PROBLEMS) return z.NEVER;
      }
      return list;
    });
}

/** An object whose insides are not ours to know, handed on untouched. */
const opaqueObject = z.custom<Record<string, unknown>>().check((context) => {
  const value: unknown = context.value;
  if (!isRecord(value)) {
    context.issues.push({
      code: "custom",
      input: value,
      message: `expected an object, got ${describeValue(value)}`,
    });
    return;
  }
  const problem = jsonProblem(value, OPAQUE_LIMITS);
  if (problem)
    context.issues.push({ code: "custom", input: value, path: problem.path, message: problem.reason });
});

const opaque = z.unknown().check((context) => {
  const problem = jsonProblem(context.value, OPAQUE_LIMITS);
  if (problem)
    context.issues.push({
      code: "custom",
      input: context.value,
      path: problem.path,
      message: problem.reason,
    });
});

const native = z.object({ api: z.string().min(1), data: opaque }).optional();

/** The shape of each content, as schemas. */
export function contentShapes(from: From) {
  const media = (kind: "image" | "audio") =>
    listOf(
      z.custom<string | Uint8Array>().check((context) => {
        const problem = mediaProblem(context.value, kind, from);
        if (problem) context.issues.push({ code: "custom", input: context.value, message: problem });
      }),
      MAX_MEDIA,
    );
  const text = z.object({ type: z.literal("text"), content: z.string(), native }).transform(withoutUndefined);
  const image = z.object({ type: z.literal("image"), images: media("image") });
  const audio = z.object({ type: z.literal("audio"), audio: media("audio") });
  const thinking = z
    .object({
      type: z.literal("thinking"),
      content: z.string(),
      signature: z.string(),
      redacted: z.boolean().optional(),
      native,
    })
    .transform(withoutUndefined);
  const toolCall = z
    .object({
      type: z.literal("tool_call"),
      id: z.string(),
      name: z.string(),
      args: opaqueObject,
      kind: z.string().optional(),
      native,
    })
    .transform(withoutUndefined);
  const toolResult = z
    .object({
      type: z.literal("tool_result"),
      id: z.string(),
      content: z.string(),
      isError: z.boolean(),
      metadata: opaqueObject,
      terminate: z.boolean(),
      images: media("image").optional(),
      audio: media("audio").optional(),
    })
    .transform(withoutUndefined);
  return { text, image, audio, thinking, toolCall, toolResult };
}
