import {
  type AttachmentRow,
  AudioContent,
  ImageContent,
  mediaKind,
  sniffImage,
  type UserContent,
} from "../message/index.js";
import type { Frozen } from "./context.js";
import { escapeMarkers } from "./escape.js";
import { plainWords } from "./labels.js";
import { attachmentMarker, cutMarker, MARKER } from "./markers.js";

/** Of a text file a model reads this many code units, the first. */
const MAX_TEXT = 100_000;
const MAX_WORDS = 200;

type Kept = { attachments?: ReadonlyMap<string, Uint8Array> | undefined };
type Attached = { lines: string[]; images: Uint8Array[]; audio: Uint8Array[] };

/** What a model reads, sees and hears of a message's attachments: one line for each, then what it can take in. */
export function composeAttachments(
  rows: readonly AttachmentRow[],
  frozen: Frozen["attachments"],
  kept: Kept,
): { lines: string[]; media: UserContent[] } {
  const all = rows.map((row, index) => compose({ ...row, ...frozen[index] }, kept));
  const images = all.flatMap((one) => one.images);
  const audio = all.flatMap((one) => one.audio);
  return {
    lines: all.flatMap((one) => one.lines),
    media: [
      ...(images.length > 0 ? [ImageContent.of(...images)] : []),
      ...(audio.length > 0 ? [AudioContent.of(...audio)] : []),
    ],
  };
}

function compose(row: AttachmentRow, kept: Kept): Attached {
  switch (row.state) {
    case "unavailable":
      return only(line(row, `unavailable: ${row.reason ?? "no reason is known"}`));
    case "transcribed":
      return composeTranscript(row);
    case "delivered":
      return composeDelivered(row, kept);
  }
}

/** A machine wrote it down: nobody typed these words, and the line above them says so. */
function composeTranscript(row: AttachmentRow): Attached {
  const heard = line(row, "transcribed");
  const { transcript = "" } = row;
  return transcript === "" ? only(heard) : { lines: [heard, ...fenced(transcript)], images: [], audio: [] };
}

function composeDelivered(row: AttachmentRow, { attachments }: Kept): Attached {
  const bytes = row.sha256 === null ? undefined : attachments?.get(row.sha256);
  if (!bytes) return only(line(row, "unavailable: its bytes are not at hand"));
  const delivered = line(row, "delivered");
  switch (mediaKind(row.mime_type, bytes)) {
    case "image":
      if (sniffImage(bytes) === null) return only(line(row, "unavailable: no kind of image a model can see"));
      return { lines: [delivered], images: [bytes], audio: [] };
    case "audio":
      return { lines: [delivered], images: [], audio: [bytes] };
    case null:
      if (!row.mime_type.toLowerCase().startsWith("text/")) return only(delivered);
      return { lines: [delivered, ...fenced(textOf(bytes))], images: [], audio: [] };
  }
}

function only(text: string): Attached {
  return { lines: [text], images: [], audio: [] };
}

function line({ name, mime_type }: AttachmentRow, state: string): string {
  const about = [name, mime_type, state].map((words) => plainWords(words, MAX_WORDS));
  return attachmentMarker(about.join(", "));
}

function fenced(text: string): string[] {
  const part = text.slice(0, MAX_TEXT).toWellFormed();
  const left = text.length - part.length;
  const cut = left > 0 ? [cutMarker(`the last ${left} characters`)] : [];
  return [escapeMarkers(part), ...cut, MARKER.attachmentEnd];
}

function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
