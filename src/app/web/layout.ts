import { audienceOf, senderKind } from "../../message/audience.js";
import type { MessageRow } from "../../message/row.js";

/** What stands under one another on the page: a day, or a row with the result that belongs to it. */
export type Item =
  | { type: "day"; key: string; at: string }
  | {
      type: "row";
      key: string;
      row: MessageRow;
      /** The result of a tool call, shown in its line. */
      result: MessageRow | null;
      /** Its speaker's name stands above it; one who goes on speaking is not named again. */
      named: boolean;
    };

/** A speaker who pauses longer than this is named again. */
const PAUSE = 10 * 60_000;

/** The rows as a reader wants them: days apart, results beside their calls, names when the speaker changes. */
export function layOut(rows: readonly MessageRow[]): Item[] {
  const results = new Map(rows.filter(isResult).map((row) => [toolUseId(row), row]));
  const calls = new Set(rows.filter(isCall).map(toolUseId));
  const items: Item[] = [];
  let day = "";
  let before: MessageRow | null = null;
  for (const row of rows) {
    if (isResult(row) && calls.has(toolUseId(row))) continue;
    if (dayOf(row) !== day) {
      day = dayOf(row);
      before = null;
      items.push({ type: "day", key: `day ${row.id}`, at: row.timestamp });
    }
    const result = isCall(row) ? (results.get(toolUseId(row)) ?? null) : null;
    const spoken = speakerOf(row) !== null;
    items.push({ type: "row", key: keyOf(row), row, result, named: spoken && !goesOn(before, row) });
    // Host notes and figures do not interrupt whoever speaks; a system message does.
    if (spoken) before = row;
    else if (audienceOf(row).shown.hand === "system") before = null;
  }
  return items;
}

/** A streamed part and the row that takes its place have the same key, so that nothing on the page moves. */
export function keyOf(row: MessageRow): string {
  if (row.message_type !== "assistant" || row.call_id === null || row.part === null) return row.id;
  return partKey(row.call_id, row.part);
}

export function partKey(call_id: string, part: number): string {
  return `${call_id}/${part}`;
}

/** Every message a shown row stands for. */
export function idsOf(item: { row: MessageRow; result: MessageRow | null }): string[] {
  return item.result ? [item.row.id, item.result.id] : [item.row.id];
}

/** The name people know the speaker by. */
export function nameOf(row: MessageRow): string {
  const given = row.metadata.sender_display_name;
  if (typeof given === "string" && given.trim() !== "") return given;
  return row.sender_name || row.sender;
}

function goesOn(before: MessageRow | null, row: MessageRow): boolean {
  if (!before || speakerOf(before) !== speakerOf(row)) return false;
  return Math.abs(Date.parse(row.timestamp) - Date.parse(before.timestamp)) < PAUSE;
}

/** Who speaks; null when nobody does. A turn of the assistant is one speech, with its thoughts and tools. */
function speakerOf(row: MessageRow): string | null {
  switch (senderKind(row)) {
    case "person":
      return `${row.sender} ${String(row.metadata.source ?? "")} ${nameOf(row)}`;
    case "bot":
    case "thinking":
    case "tool_use":
    case "tool_result":
      return `turn ${row.turn_id ?? ""}`;
    case "command_output":
    case "system":
    case "deploy":
    case "host":
    case "result_meta":
      return null;
  }
}

function isCall(row: MessageRow): boolean {
  return senderKind(row) === "tool_use" && toolUseId(row) !== "";
}

function isResult(row: MessageRow): boolean {
  return senderKind(row) === "tool_result" && toolUseId(row) !== "";
}

function toolUseId(row: MessageRow): string {
  const id = row.metadata.tool_use_id;
  // Ids of some APIs are unique only within their turn.
  return typeof id === "string" ? `${row.turn_id ?? ""} ${id}` : "";
}

function dayOf(row: MessageRow): string {
  return new Date(row.timestamp).toDateString();
}
