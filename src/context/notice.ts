import type { Notice } from "./context.js";
import { escapeMarkers, unescapeMarkers } from "./escape.js";
import { MARKER } from "./markers.js";

/**
 * A notice as the model reads it. What was looked up may hold anybody's words, so it is escaped like those; where it
 * quotes people by its nature, it is fenced too, so that nobody's words pass for the operator's.
 */
export function noticeText({ text, quotes }: Notice): string {
  return quotes
    ? `${MARKER.quotedNotice}\n${escapeMarkers(text)}\n${MARKER.quotedNoticeEnd}`
    : `${MARKER.notice}\n${escapeMarkers(text)}`;
}

/** The notice that reads so; null when it is none. */
export function noticeOf(id: string, read: string): Notice | null {
  const text = read.replace(/^\n+/, "");
  const [open, close] = [`${MARKER.quotedNotice}\n`, `\n${MARKER.quotedNoticeEnd}`];
  if (text.startsWith(open) && text.endsWith(close)) {
    return { id, text: unescapeMarkers(text.slice(open.length, -close.length)), quotes: true };
  }
  const plain = `${MARKER.notice}\n`;
  return text.startsWith(plain) ? { id, text: unescapeMarkers(text.slice(plain.length)) } : null;
}
