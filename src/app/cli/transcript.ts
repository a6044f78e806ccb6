import { plain } from "./plain.js";
import { audienceOf, displayContent, type MessageRow, senderKind } from "../../message/index.js";

const styles = { bold: "1", dim: "2", italic: "3", cyan: "36", yellow: "33" } as const;
/** Of a command's output; all of it is in `log --json` and on the page. */
const OUTPUT_LINES = 40;
export type Style = keyof typeof styles;

/** Colours where a person looks, none in a pipe. */
export function painter(colour: boolean): (style: Style, text: string) => string {
  return (style, text) => (colour ? `\x1b[${styles[style]}m${text}\x1b[0m` : text);
}

/** The row with its number and its id at the end of its first line, to ask about it. */
export function numberedLine(row: MessageRow, paint: ReturnType<typeof painter>): string {
  const [first = "", ...rest] = transcriptLine(row, paint).split("\n");
  return [`${first}  ${paint("dim", `#${row.seq} ${plain(row.id)}`)}`, ...rest].join("\n");
}

/** One row as a person reads it, in its own hand. */
export function transcriptLine(row: MessageRow, paint: ReturnType<typeof painter>): string {
  const { glyph } = audienceOf(row).shown;
  const time = paint("dim", row.timestamp.slice(11, 16));
  const name = plain(row.sender_name).replace(/\s+/g, " ");
  const text = row.deleted_at ? paint("dim", "(deleted)") : withAttachments(plain(displayContent(row)), row);
  const cut = row.metadata.cut === true ? " · cut off" : "";
  switch (senderKind(row)) {
    case "person":
      return `${time} ${paint("bold", name)} ${paint("dim", `· ${plain(String(row.metadata.source ?? ""))}`)}\n      ${indent(text)}`;
    case "bot":
      return `${time} ${paint("cyan", name)}${paint("dim", cut)}\n      ${indent(text)}`;
    case "thinking":
      return `      ${paint("dim", `${glyph} ${firstLine(text)}${cut}`)}`;
    case "tool_use":
      return `      ${glyph} ${firstLine(text)}`;
    case "command_output":
      return `      ${glyph} ${succeeded(row) ? "✅" : "❌"} ${indent(firstLines(text))}`;
    case "tool_result":
      return `      ${glyph} ${succeeded(row) ? "✅" : "❌"} ${firstLine(text)}`;
    case "system":
    case "deploy":
      return `${time} ${glyph} ${paint("yellow", indent(text))}`;
    case "host":
    case "result_meta":
      return `      ${paint("dim", `${glyph} ${indent(text)}`)}`;
  }
}

/** Under the words, what came with them, and what was heard in a sound. */
function withAttachments(text: string, { attachments }: MessageRow): string {
  const lines = attachments.map(({ name, state, reason, transcript }) => {
    const trouble = state === "unavailable" ? ` (unavailable: ${reason ?? "no reason given"})` : "";
    const heard = transcript === undefined ? "" : `: “${firstLine(transcript)}”`;
    return plain(`📎 ${name}${trouble}${heard}`).replace(/\s+/g, " ");
  });
  return [text, ...lines].filter((line) => line !== "").join("\n");
}

function succeeded(row: MessageRow): boolean {
  const { exit_code, is_error } = row.metadata;
  return typeof exit_code === "number" ? exit_code === 0 : is_error !== true;
}

function indent(text: string): string {
  return text.replaceAll("\n", "\n      ");
}

/** What was asked for, as long as it leaves room for the conversation. */
function firstLines(text: string): string {
  const lines = text.replace(/\n+$/, "").split("\n");
  const more = lines.length - OUTPUT_LINES;
  // One line less is not worth a line that says so.
  if (more <= 1) return lines.join("\n");
  return [...lines.slice(0, OUTPUT_LINES), `(${more} more lines)`].join("\n");
}

function firstLine(text: string): string {
  const line = text.split("\n", 1)[0] ?? "";
  return line.length > 100 ? `${line.slice(0, 99)}…` : line;
}
