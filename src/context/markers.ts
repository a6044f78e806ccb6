import { HANDOFF_LABEL, SUMMARY_LABEL } from "../message/index.js";

/**
 * Everything our own code writes in brackets at the start of a line. The one list: what is written here is also what
 * gets escaped in everybody else's text (escape.ts), so a new marker is safe as soon as it stands here.
 */

const WORDS = {
  time: "Time",
  thread: "Thread context",
  attachment: "Attachment",
  command: "Command output",
  notice: "Notice",
  cut: "Cut",
  stopped: "Answer stopped",
  end: "End of",
  edited: "edited an earlier message",
  material: "Conversation to summarise",
  toolCall: "Call of the tool",
  toolResult: "Result of the tool",
} as const;

/** A line that begins with a bracket and one of these is ours. */
export const MARKER_WORDS: readonly string[] = [
  WORDS.time,
  WORDS.thread,
  WORDS.attachment,
  WORDS.command,
  WORDS.notice,
  WORDS.cut,
  WORDS.stopped,
  WORDS.end,
  WORDS.material,
  WORDS.toolCall,
  WORDS.toolResult,
  ...[...Object.values(SUMMARY_LABEL), ...Object.values(HANDOFF_LABEL)].map((label) =>
    label.replace(/[[\]]/g, ""),
  ),
  "Summary of the conversation",
  "The conversation branched",
  "System",
  // Where media a model cannot take, and turns that were never taken, leave a word in their place.
  "An image was here",
  "A sound clip was here",
  "Nothing has been said",
  // Prefixes that older systems baked into content; a model may have read a history full of them.
  "Slack channel",
  "Discord channel",
];

/** A line that begins with a name in brackets and this verb is ours; so is one with a colon there. */
export const EDIT_VERB = "edited";

/** `[Olivia]:`, or `[Olivia (<@U06>)]:` where the assistant can notify her. */
export function speakerMarker(label: string, mentionToken: string | null): string {
  return mentionToken === null ? `[${label}]:` : `[${label} (${mentionToken})]:`;
}

/** `[Olivia] edited an earlier message:` */
export function editMarker(label: string): string {
  return `[${label}] ${WORDS.edited}:`;
}

/** `[Time: …]` */
export function timeMarker(moment: string): string {
  return `[${WORDS.time}: ${moment}]`;
}

/** Above an attachment, or in its place. */
export function attachmentMarker(about: string): string {
  return `[${WORDS.attachment}: ${about}]`;
}

/** Above what a command printed. */
export function commandMarker(exitCode: number | null): string {
  return exitCode === null ? `[${WORDS.command}]` : `[${WORDS.command}, exit ${exitCode}]`;
}

/** Above what a tool was called with, in a conversation that is told and not replayed. */
export function toolCallMarker(name: string): string {
  return `[${WORDS.toolCall} ${name}]`;
}

/** Above what a tool answered, in a conversation that is told and not replayed. */
export function toolResultMarker(isError: boolean): string {
  return isError ? `[${WORDS.toolResult}, an error]` : `[${WORDS.toolResult}]`;
}

/** Where something too long was cut. */
export function cutMarker(what: string): string {
  return `[${WORDS.cut}: ${what}]`;
}

export const MARKER = {
  thread: `[${WORDS.thread} — prior messages in this thread, newest last]`,
  threadEnd: `[${WORDS.end} thread context]`,
  attachmentEnd: `[${WORDS.end} attachment]`,
  notice: `[${WORDS.notice}]`,
  quotedNotice: `[${WORDS.notice} — quoted from elsewhere]`,
  quotedNoticeEnd: `[${WORDS.end} notice]`,
  stopped: `[${WORDS.stopped} here]`,
  material: `[${WORDS.material}]`,
  materialEnd: `[${WORDS.end} the conversation]`,
} as const;
