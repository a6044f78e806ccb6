import {
  AUDIENCE,
  type Binding,
  clip,
  displayContent,
  type MessageRow,
  senderKind,
} from "../message/index.js";
import { calmMassMentions, type Mention, translateMentions } from "./mention.js";

type Trace = Binding["trace"];

export type OutgoingOptions = {
  /** How much of a tool's or a thought's text is told. */
  trace: Trace;
  /** What people call the channel a person spoke on; made from the row's `source` when not given. */
  sourceLabel?: string;
  /** Mention tokens in the text that mean nobody, or somebody else, where it goes. */
  mentions?: readonly Mention[];
  /** Leave `@everyone` and its like able to notify. */
  massMentions?: boolean;
};

/** How long a preview of a thought, or of a tool's arguments, may be. */
const PREVIEW_LENGTH = 120;
const NAME_LENGTH = 80;

const SOURCE_LABELS: Readonly<Record<string, string>> = {
  slack: "Slack",
  discord: "Discord",
  telegram: "Telegram",
  whatsapp: "WhatsApp",
  imessage: "iMessage",
  bluebubbles: "iMessage",
  bb: "iMessage",
  web: "Web",
  tui: "Terminal",
  terminal: "Terminal",
  http: "HTTP",
  webhook: "Webhook",
};

/** What people call a channel: `slack` is `Slack`. */
export function sourceLabel(source: string): string {
  return SOURCE_LABELS[source] ?? source.charAt(0).toUpperCase() + source.slice(1);
}

/** Does this row go out to a binding with this `trace`? Traces are what nobody asked for; answers always go. */
export function tracesShown(
  row: Pick<MessageRow, "sender" | "message_type" | "content">,
  trace: Trace,
): boolean {
  const kind = senderKind(row);
  switch (kind) {
    case "thinking":
      // A redacted thought has no words to show.
      return trace !== "off" && row.content.trim() !== "";
    case "tool_use":
    case "tool_result":
    case "result_meta":
      return trace !== "off";
    case "person":
    case "bot":
    case "command_output":
    case "system":
    case "deploy":
    case "host":
      return true;
  }
}

/**
 * How a row looks when it leaves for a platform, where all we send stands under our own name: the assistant's words
 * alone, anybody else's behind a name or a glyph.
 */
export function outgoingText(row: MessageRow, options: OutgoingOptions): string {
  const text = translateMentions(presented(row, options), options.mentions ?? []);
  return options.massMentions ? text : calmMassMentions(text);
}

function presented(row: MessageRow, options: OutgoingOptions): string {
  const kind = senderKind(row);
  const glyph = AUDIENCE[kind].shown.glyph;
  const full = options.trace === "full";
  switch (kind) {
    case "person":
      return `${byline(row, options)}: ${quoteForgedBylines(withAttachments(displayContent(row), row))}`;
    case "bot":
      return quoteForgedBylines(withAttachments(row.content, row));
    case "thinking":
      return `${glyph} ${full ? row.content : preview(row.content)}`;
    case "tool_use":
      return `${glyph} ${toolName(row)} ${full ? argumentsOf(row) : preview(argumentsOf(row))}`;
    case "tool_result":
      return `${glyph} ${row.metadata.is_error === true ? "❌" : "✅"} ${toolName(row)}${full ? `\n${row.content}` : ""}`;
    case "command_output":
      return `${glyph} ${row.metadata.exit_code === 0 ? "✅" : "❌"}\n${row.content}`;
    case "result_meta":
      return `${glyph} ${oneLine(row.content)}`;
    case "system":
    case "deploy":
    case "host":
      return `${glyph} ${withAttachments(row.content, row)}`;
  }
}

/** `Olivia · Slack`: the name and the channel of a person, on one line whatever the name holds. */
function byline(row: MessageRow, options: OutgoingOptions): string {
  const label = options.sourceLabel ?? sourceLabel(String(row.metadata.source ?? ""));
  const name = plainName(row.sender_name) || plainName(row.sender);
  const source = plainName(label);
  return source === "" ? name : `${name} · ${source}`;
}

/** A name that cannot break the line, turn it round, or pass for a name and a channel. */
function plainName(name: string): string {
  return clip(oneLine(name).replace(/[·•∙⋅‧・]/gu, "-"), NAME_LENGTH);
}

function oneLine(text: string): string {
  return text
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, " ")
    .replace(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "")
    .trim();
}

const KNOWN_LABELS = [...new Set(Object.values(SOURCE_LABELS))].join("|");
const FORGED_BYLINE = new RegExp(`^(?=.{1,200} · (?:${KNOWN_LABELS}): )`, "gmu");

/** A line that looks like our own byline is marked as a quotation: it was said, but not by the one it names. */
function quoteForgedBylines(text: string): string {
  return text.includes(" · ") ? text.replace(FORGED_BYLINE, "> ") : text;
}

function withAttachments(text: string, row: MessageRow): string {
  const names = row.attachments.map(({ name, state, reason }) => {
    const trouble = state === "unavailable" ? ` (unavailable${reason ? `: ${oneLine(reason)}` : ""})` : "";
    return `📎 ${oneLine(name)}${trouble}`;
  });
  return [text, ...names].filter((line) => line !== "").join("\n");
}

function toolName(row: MessageRow): string {
  return typeof row.metadata.name === "string" ? plainName(row.metadata.name) : "tool";
}

function argumentsOf(row: MessageRow): string {
  return row.metadata.args === undefined ? row.content : JSON.stringify(row.metadata.args);
}

function preview(text: string): string {
  // A long text is cut before it is searched, so that a preview costs the preview.
  return clip(oneLine(clip(text, PREVIEW_LENGTH * 8)), PREVIEW_LENGTH);
}
