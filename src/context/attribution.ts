import { escapeMarkers } from "./escape.js";
import { neutraliseName } from "./labels.js";
import { cutMarker, editMarker, MARKER, speakerMarker } from "./markers.js";
import { mentionToken } from "./mention.js";

type Metadata = Readonly<Record<string, unknown>>;

/** Of a thread's summary a model reads this many code units, the newest. */
const MAX_THREAD_CONTEXT = 8000;

/**
 * What stands before a person's words: `[Olivia]:`, or `[Olivia (<@U06>)]:` where they can be notified. Composed from
 * metadata alone, never from what the text looks like. `label` is their name in this chat, once it is settled.
 *
 * @example composeAttributionPrefix({ sender_id: "bb:+45", sender_display_name: "Olivia" }) === "[Olivia]:"
 */
export function composeAttributionPrefix(metadata: Metadata, label?: string): string {
  return speakerMarker(label ?? nameIn(metadata), mentionToken(metadata));
}

/** The words after a speaker's prefix: escaped, so that no line of them passes for another speaker's. */
export function composeTurn(prefix: string, words: string): string {
  return words === "" ? prefix : `${prefix} ${escapeMarkers(words)}`;
}

/** What a later turn says about a message that was edited after a model read it. */
export function composeEditNote(label: string, words: string): string {
  return composeTurn(editMarker(label), words);
}

/**
 * The summary of a thread's earlier messages, fenced, for the place directly above the turn it came with. Chat members
 * wrote it, so it is escaped like anything they type. Null when there is none.
 */
export function composeThreadContextBlock(metadata: Metadata): string | null {
  const { thread_context: given } = metadata;
  if (typeof given !== "string" || given.trim() === "") return null;
  // A channel may have put our own heading above it already; once is enough.
  const own = `${MARKER.thread}\n`;
  const summary = given.startsWith(own) ? given.slice(own.length) : given;
  const newest = lastPart(summary, MAX_THREAD_CONTEXT);
  const left = summary.length - newest.length;
  const cut = left > 0 ? [cutMarker(`the oldest ${left} characters`)] : [];
  return [MARKER.thread, ...cut, escapeMarkers(newest), MARKER.threadEnd].join("\n");
}

function nameIn({ sender_id: id, sender_display_name: name }: Metadata): string {
  return neutraliseName(typeof name === "string" ? name : "", typeof id === "string" ? id : "");
}

/** The end of a text, at most so long, never from the middle of a character. */
function lastPart(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const part = text.slice(-limit);
  return /^[\uDC00-\uDFFF]/.test(part) ? part.slice(1) : part;
}
