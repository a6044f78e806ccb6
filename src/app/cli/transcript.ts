import { plain } from "./plain.js";
import { audienceOf, displayContent, type MessageRow, senderKind } from "../../message/index.js";

const styles = { bold: "1", dim: "2", italic: "3", cyan: "36", yellow: "33" } as const;
export type Style = keyof typeof styles;

/** Colours where a person looks, none in a pipe. */
export function painter(colour: boolean): (style: Style, text: string) => string {
  return (style, text) => (colour ? `\x1b[${styles[style]}m${text}\x1b[0m` : text);
}

/** One row as a person reads it, in its own hand. */
export function transcriptLine(row: MessageRow, paint: ReturnType<typeof painter>): string {
  const { glyph } = audienceOf(row).shown;
  const time = paint("dim", row.timestamp.slice(11, 16));
  const name = plain(row.sender_name).replace(/\s+/g, " ");
  const text = row.deleted_at ? paint("dim", "(deleted)") : plain(displayContent(row));
  switch (senderKind(row)) {
    case "person":
      return `${time} ${paint("bold", name)} ${paint("dim", `· ${plain(String(row.metadata.source ?? ""))}`)}\n      ${indent(text)}`;
    case "bot":
      return `${time} ${paint("cyan", name)}${row.metadata.cut === true ? paint("dim", " · cut off") : ""}\n      ${indent(text)}`;
    case "thinking":
      return `      ${paint("dim", `${glyph} ${firstLine(text)}`)}`;
    case "tool_use":
      return `      ${glyph} ${firstLine(text)}`;
    case "tool_result":
    case "command_output":
      return `      ${glyph} ${succeeded(row) ? "✅" : "❌"} ${firstLine(text)}`;
    case "system":
    case "deploy":
      return `${time} ${glyph} ${paint("yellow", indent(text))}`;
    case "host":
    case "result_meta":
      return `      ${paint("dim", `${glyph} ${indent(text)}`)}`;
  }
}

function succeeded(row: MessageRow): boolean {
  const { exit_code, is_error } = row.metadata;
  return typeof exit_code === "number" ? exit_code === 0 : is_error !== true;
}

function indent(text: string): string {
  return text.replaceAll("\n", "\n      ");
}

function firstLine(text: string): string {
  const line = text.split("\n", 1)[0] ?? "";
  return line.length > 100 ? `${line.slice(0, 99)}…` : line;
}
