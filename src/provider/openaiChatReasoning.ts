import { isRecord } from "./json.js";

/** The readable reasoning in a delta: servers use different fields for it, some two at once for the same words. */
export function readReasoning(delta: Record<string, unknown>): string {
  for (const field of [delta.reasoning_content, delta.reasoning, delta.reasoning_text]) {
    if (typeof field === "string" && field !== "") return field;
  }
  return detailsIn(delta)
    .map((detail) => firstString(detail.text, detail.summary))
    .join("");
}

export function detailsIn(delta: Record<string, unknown>): Record<string, unknown>[] {
  return Array.isArray(delta.reasoning_details) ? delta.reasoning_details.filter(isRecord) : [];
}

function firstString(...values: unknown[]): string {
  return values.find((value) => typeof value === "string") ?? "";
}

const GROWING = ["text", "summary"] as const;
type Growing = { fields: Record<string, unknown>; pieces: Record<(typeof GROWING)[number], string[]> };

/** Gathers structured reasoning, whose pieces belong together by kind and index, to be sent back as it was. */
export function reasoningDetails(): {
  take(delta: Record<string, unknown>): void;
  finish(): Record<string, unknown>[];
} {
  const all: Growing[] = [];
  return {
    take(delta) {
      for (const detail of detailsIn(delta)) {
        const last = all.at(-1);
        const continues = last !== undefined && isSameDetail(last.fields, detail);
        const growing = continues ? last : { fields: {}, pieces: { text: [], summary: [] } };
        if (!continues) all.push(growing);
        grow(growing, detail);
      }
    },
    finish: () =>
      all.map(({ fields, pieces }) => {
        const joined = GROWING.filter((name) => pieces[name].length > 0).map((name) => [
          name,
          pieces[name].join(""),
        ]);
        return { ...fields, ...Object.fromEntries(joined) };
      }),
  };
}

/** An encrypted detail comes whole, so the next one is always another. */
function isSameDetail(last: Record<string, unknown>, next: Record<string, unknown>): boolean {
  if (last.type !== next.type || last.index !== next.index || typeof next.data === "string") return false;
  return next.id === undefined || next.id === null || next.id === last.id;
}

function grow(growing: Growing, detail: Record<string, unknown>): void {
  for (const name of GROWING) {
    const piece = detail[name];
    if (typeof piece === "string") growing.pieces[name].push(piece);
  }
  for (const [name, value] of Object.entries(detail)) {
    const isPiece = GROWING.some((field) => field === name) && typeof value === "string";
    if (!isPiece && value !== null && value !== undefined) growing.fields[name] = value;
  }
}
