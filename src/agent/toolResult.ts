import { byteLength, replaceBadCharacters, ToolResultContent } from "../message/index.js";
import { isRecord, jsonProblem } from "../message/json.js";
import { describeValue } from "../message/problems.js";
import { mediaProblem } from "../message/shape.js";

/** What a model is given of one tool's words; more would fill its window with one answer. */
export const MAX_TEXT_BYTES = 256 * 1024;
const MAX_MEDIA_ITEMS = 50;
/** Of all images and sounds of one result, as they are stored. */
const MAX_MEDIA_BYTES = 20 * 1024 * 1024;
const METADATA_LIMITS = { depth: 64, bytes: 256 * 1024, wellFormed: true };
const FIELDS = ["content", "isError", "metadata", "terminate", "images", "audio"];

/**
 * A result out of whatever a tool gave. What is no result but can be written down is given as JSON; what a
 * tool may not give is left out, and the result says so.
 */
export function resultOfOutput(id: string, output: unknown): ToolResultContent {
  try {
    if (!isRecord(output) || !FIELDS.some((field) => field in output))
      return ToolResultContent.of(id, keptText(wordsOf(output)));
    const left: string[] = [];
    const images = keptMedia(output.images, "image", left);
    const audio = keptMedia(output.audio, "audio", left);
    const words = output.content === undefined ? "" : wordsOf(output.content);
    const content = keptText([words, ...left].filter((part) => part !== "").join("\n"));
    return ToolResultContent.of(id, content, {
      isError: output.isError === true,
      metadata: keptMetadata(output.metadata),
      terminate: output.terminate === true,
      ...(images.length > 0 ? { images } : {}),
      ...(audio.length > 0 ? { audio } : {}),
    });
  } catch (error) {
    return resultOfError(id, error, "The tool gave something that cannot be read");
  }
}

/** What a tool threw, as a result. */
export function resultOfError(id: string, error: unknown, what = "The tool failed"): ToolResultContent {
  const why = reasonOf(error);
  if (why === "") return ToolResultContent.error(id, `${what} without saying why.`);
  return ToolResultContent.error(id, keptText(what === "The tool failed" ? why : `${what}: ${why}`));
}

/** Anything can be thrown, also what cannot be made into words. */
export function reasonOf(error: unknown): string {
  try {
    return error instanceof Error ? String(error.message) || error.name : String(error ?? "");
  } catch {
    return "";
  }
}

function wordsOf(value: unknown): string {
  switch (typeof value) {
    case "string":
      return value;
    case "undefined":
      // No error: it did what it does, and a model told otherwise would do it again.
      return "The tool finished and gave nothing back.";
    case "number":
    case "boolean":
    case "bigint":
      return String(value);
    case "object":
      return JSON.stringify(value) ?? "null";
    default:
      throw new TypeError(`expected text, got ${describeValue(value)}`);
  }
}

function keptText(text: string): string {
  // Cut before it is looked through: the length in code units is never more than that in bytes.
  const head = text.length > MAX_TEXT_BYTES ? text.slice(0, MAX_TEXT_BYTES) : text;
  const clean = replaceBadCharacters(head);
  if (head.length === text.length && byteLength(clean) <= MAX_TEXT_BYTES) return clean;
  const kept = Buffer.from(clean)
    .subarray(0, MAX_TEXT_BYTES)
    .toString("utf8")
    .replace(/\uFFFD+$/, "");
  return `${kept}\n[cut: the tool gave ${text.length} characters, of which these are the first ${kept.length}]`;
}

function keptMetadata(metadata: unknown): Record<string, unknown> {
  if (metadata === undefined) return {};
  if (!isRecord(metadata)) return { left_out: `expected an object, got ${describeValue(metadata)}` };
  const problem = jsonProblem(metadata, METADATA_LIMITS);
  // A copy: the tool may go on changing its own.
  return problem ? { left_out: problem.reason } : structuredClone(metadata);
}

function keptMedia(given: unknown, kind: "image" | "audio", left: string[]): (string | Uint8Array)[] {
  if (given === undefined) return [];
  if (!Array.isArray(given)) {
    left.push(`[${kind} left out: expected a list, got ${describeValue(given)}]`);
    return [];
  }
  let size = 0;
  return given.flatMap((item: unknown, index) => {
    const problem = index < MAX_MEDIA_ITEMS ? itemProblem(item, kind) : `more than ${MAX_MEDIA_ITEMS}`;
    const bytes = typeof item === "string" || item instanceof Uint8Array ? item.length : 0;
    if (problem === null && size + bytes <= MAX_MEDIA_BYTES) {
      size += bytes;
      return typeof item === "string" || item instanceof Uint8Array ? [item] : [];
    }
    if (index <= MAX_MEDIA_ITEMS) left.push(`[${kind} ${index + 1} left out: ${problem ?? "too large"}]`);
    return [];
  });
}

function itemProblem(item: unknown, kind: "image" | "audio"): string | null {
  return mediaProblem(item, kind, "code");
}
