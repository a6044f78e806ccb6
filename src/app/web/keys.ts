import { closeInspector, inspect, inspectNow } from "./inspecting.js";
import { idsOf, layOut } from "./layout.js";
import { goToEnd } from "./reading.js";
import { canForkFrom } from "./speaking.js";
import type { Page } from "./state.js";

/** What the keyboard does anywhere but in a field. */
export function onKey(page: Page, event: KeyboardEvent): void {
  if (event.key === "Escape") {
    if (!event.isComposing) close(page, event);
    return;
  }
  if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey || page.state().sheet) return;
  const does = KEYS[event.key];
  if (!does) return;
  event.preventDefault();
  does(page);
}

const KEYS: Readonly<Record<string, (page: Page) => void>> = {
  j: (page) => move(page, 1),
  k: (page) => move(page, -1),
  i: inspectSelected,
  f: forkFromSelected,
  b: (page) => page.set({ sheet: "branches" }),
  n: (page) => void inspectNow(page),
  "/": (page) => page.set({ search: { words: "", found: null, trouble: null } }),
  "?": (page) => page.set({ sheet: "help" }),
  c: () => document.getElementById("composer")?.focus(),
  G: (page) => void goToEnd(page),
};

/** Moves the selection; without one it starts at the end, where people read. */
function move(page: Page, step: 1 | -1): void {
  const { transcript, selected } = page.state();
  const items = layOut(transcript?.rows ?? []).filter((item) => item.type === "row");
  const at = items.findIndex((item) => selected !== null && idsOf(item).includes(selected));
  const next = at < 0 ? items.at(-1) : items[Math.min(Math.max(at + step, 0), items.length - 1)];
  if (next) page.set({ selected: next.row.id, goal: { id: next.row.id } });
}

function inspectSelected(page: Page): void {
  const { transcript, selected } = page.state();
  const rows = transcript?.rows ?? [];
  const row = rows.find(({ id }) => id === selected) ?? rows.findLast(({ call_id }) => call_id !== null);
  if (row) void inspect(page, row);
  else void inspectNow(page);
}

function forkFromSelected(page: Page): void {
  const { transcript, selected } = page.state();
  const row = transcript?.rows.find(({ id }) => id === selected);
  if (row && canForkFrom(row)) page.set({ sheet: { fork: row } });
}

function close(page: Page, event: KeyboardEvent): void {
  const { sheet, search, inspection, selected } = page.state();
  if (sheet) return;
  if (search) page.set({ search: null });
  else if (inspection) closeInspector(page);
  else if (selected) page.set({ selected: null });
  else if (event.target instanceof HTMLElement) event.target.blur();
}

function isTyping(event: KeyboardEvent): boolean {
  const { target } = event;
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(?:input|textarea|select)$/i.test(target.tagName);
}
