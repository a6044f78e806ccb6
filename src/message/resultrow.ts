import { AUDIENCE } from "./audience.js";
import type { ToolResultContent } from "./content.js";
import { isRecord } from "./json.js";
import { pointsAtFile, readFile, readMediaString, toBase64 } from "./media.js";
import { withoutUndefined } from "./present.js";
import { type FieldError, pathText } from "./problems.js";
import { type AnyRow, exactText, keepable, type NewRow } from "./row.js";
import { mediaProblem } from "./shape.js";

/** Where a tool's result belongs; `tool_name` is the tool's, `timestamp` in milliseconds. */
type ResultPlace = {
  id: string;
  chat_jid: string;
  turn_id: string | null;
  call_id: string | null;
  part: number | null;
  tool_name: string;
  timestamp: number;
};

/** A tool's result as a row. Its media become base64; one that cannot be read is named in `metadata.unavailable`. */
export function rowOfToolResult(result: ToolResultContent, place: ResultPlace): NewRow {
  const unavailable: FieldError[] = [];
  const exitCode = result.metadata.exit_code;
  const metadata = withoutUndefined({
    tool_use_id: result.id,
    name: place.tool_name,
    is_error: result.isError,
    exit_code: typeof exitCode === "number" ? exitCode : undefined,
    terminate: result.terminate,
    metadata: result.metadata,
    images: result.images && storedMedia("images", result.images, unavailable),
    audio: result.audio && storedMedia("audio", result.audio, unavailable),
    unavailable: unavailable.length > 0 ? unavailable : undefined,
  });
  return {
    id: place.id,
    chat_jid: place.chat_jid,
    sender: "tool_result",
    sender_name: place.tool_name,
    ...keepable(result.content, metadata),
    timestamp: new Date(place.timestamp).toISOString(),
    is_from_me: true,
    message_type: AUDIENCE.tool_result.messageType,
    turn_id: place.turn_id,
    call_id: place.call_id,
    part: place.part,
  };
}

/** A tool's result out of its row. */
export function toolResultOfRow(row: AnyRow): ToolResultContent {
  const { metadata } = row;
  const images = mediaOf(metadata.images);
  const audio = mediaOf(metadata.audio);
  return {
    type: "tool_result",
    id: typeof metadata.tool_use_id === "string" ? metadata.tool_use_id : "",
    content: exactText(row),
    isError: metadata.is_error === true,
    metadata: isRecord(metadata.metadata) ? metadata.metadata : {},
    terminate: metadata.terminate === true,
    ...(images && { images }),
    ...(audio && { audio }),
  };
}

function storedMedia(
  field: "images" | "audio",
  media: readonly (string | Uint8Array)[],
  unavailable: FieldError[],
): string[] {
  return media.flatMap((item, index) => {
    const stored = storedItem(item, field === "images" ? "image" : "audio");
    if (stored.ok) return [stored.text];
    unavailable.push({ path: pathText([field, index]), reason: stored.reason });
    return [];
  });
}

type StoredItem = { ok: true; text: string } | { ok: false; reason: string };

/** Media as JSON can hold them: a URL, a `data:` URL or base64. A `file:` is read now, for a row must never name one. */
function storedItem(item: string | Uint8Array, kind: "image" | "audio"): StoredItem {
  const reason = mediaProblem(item, kind, "code");
  if (reason !== null) return { ok: false, reason };
  if (typeof item !== "string") return { ok: true, text: toBase64(item) };
  const media = readMediaString(item);
  if (media.form !== "file") return { ok: true, text: item };
  try {
    return storedItem(readFile(media.path), kind);
  } catch {
    return { ok: false, reason: "the file could not be read" };
  }
}

/** A row's media, without any `file:` that another hand wrote into it. */
function mediaOf(media: unknown): string[] | undefined {
  if (!Array.isArray(media)) return undefined;
  return media.filter((item): item is string => typeof item === "string" && !pointsAtFile(item));
}
