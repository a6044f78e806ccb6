import type { MessageRow } from "./row.js";

/** The shapes older systems baked into content, by source. Nothing else is ever peeled. */
const BAKED: Readonly<Record<string, RegExp>> = {
  slack: /^\[Slack channel:[^\s\]]+ user:[^\]\n]*?(?: \(<@[A-Z0-9]+>\))?\] /,
  discord: /^\[Discord channel:[^\s\]]+ user:[^\]\n]*\] /,
  imessage: /^\[[^\]\n]+\]: /,
  bluebubbles: /^\[[^\]\n]+\]: /,
};

/** Peel the prefix an older system put before the text. Only for rows marked `legacy_ingest`; see `displayContent`. */
export function stripLegacyIngestPrefix(content: string, source: string): string {
  const baked = BAKED[source];
  return baked ? content.replace(baked, "") : content;
}

/** What a screen shows of a row: its content verbatim, and an old import without its baked prefix. */
export function displayContent(row: Pick<MessageRow, "content" | "metadata">): string {
  if (row.metadata.legacy_ingest !== true) return row.content;
  return stripLegacyIngestPrefix(row.content, String(row.metadata.source ?? ""));
}
