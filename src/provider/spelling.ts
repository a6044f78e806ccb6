import type { LeftOut, Origin } from "../message/index.js";
import { type BlockWriter, blockWriter } from "./blocks.js";
import type { EncodedBlock, Model } from "./codec.js";
import type { Fitted } from "./fitted.js";
import { type FitMemory, fitMemory } from "./handoff.js";
import { leaveOut } from "./origin.js";

/** A history on its way into a body: what an API's spelling of a message writes to, and what it must know of those before. */
export type Spelling = Pick<BlockWriter, "frame" | "begin" | "put" | "quote"> & {
  /** The role of what was written last, in the API's words; empty before anything was. */
  role: string;
  leaveOut(from: Origin, reason: string): void;
  /** An id that may stand in a body once: false when it does already. */
  claim(id: string): boolean;
  isClaimed(id: string): boolean;
};

/** How one message of a history is spelled. It may look at what follows a system message, and at nothing else behind. */
export type Spell = (message: Fitted, spelling: Spelling, at: number, history: readonly Fitted[]) => void;

/** How far a spelled history had come, after one of its messages. */
type Mark = { message: Fitted; role: string; blocks: number; leftOut: number; claimed: number };

/** A history as it was spelled. */
type SpelledMemory = {
  marks: Mark[];
  blocks: EncodedBlock[];
  text: string;
  leftOut: LeftOut[];
  claimed: Set<string>;
};

/**
 * What the last request of a chat left behind. A request encoded with it has the bytes it would have without: whatever
 * is the same as in the last one is not fitted and not spelled again, and its blocks are the same values.
 */
export type EncodeMemory = { key: string; fits: FitMemory; spelled: SpelledMemory };

/** A memory of nothing. */
export function encodeMemory(): EncodeMemory {
  return { key: "", fits: fitMemory(), spelled: noSpelling() };
}

function noSpelling(): SpelledMemory {
  return { marks: [], blocks: [], text: "", leftOut: [], claimed: new Set() };
}

/** A memory made ready for a model: what was spelled for another says nothing. */
export function memoryFor(model: Model, memory: EncodeMemory = encodeMemory()): EncodeMemory {
  const { apiKey: _, ...known } = model;
  const key = JSON.stringify({ ...known, signing: null });
  if (memory.key !== key) Object.assign(memory, encodeMemory(), { key });
  return memory;
}

export type SpelledHistory = {
  blocks: readonly EncodedBlock[];
  /** All of the blocks. */
  text: string;
  /** Of what was written last. */
  role: string;
  leftOut: readonly LeftOut[];
};

/** Spells a history, and what of it the memory has is not spelled again. */
export function spellHistory(
  history: readonly Fitted[],
  spell: Spell,
  { spelled }: EncodeMemory,
): SpelledHistory {
  const from = rewind(spelled, countSpelled(history, spelled.marks));
  const writer = blockWriter();
  const { claimed } = spelled;
  const spelling: Spelling = {
    frame: writer.frame,
    begin: writer.begin,
    put: writer.put,
    quote: writer.quote,
    role: spelled.marks.at(-1)?.role ?? "",
    leaveOut: (from, reason) => spelled.leftOut.push(...leaveOut(from, reason)),
    isClaimed: (id) => claimed.has(id),
    claim(id) {
      if (claimed.has(id)) return false;
      claimed.add(id);
      return true;
    },
  };
  const before = spelled.blocks.length;
  for (let at = from; at < history.length; at++) {
    const message = history[at];
    if (!message) continue;
    spell(message, spelling, at, history);
    spelled.marks.push({
      message,
      role: spelling.role,
      blocks: before + writer.count(),
      leftOut: spelled.leftOut.length,
      claimed: claimed.size,
    });
  }
  for (const block of writer.blocks) spelled.blocks.push(block);
  spelled.text += writer.body();
  return { blocks: spelled.blocks, text: spelled.text, role: spelling.role, leftOut: spelled.leftOut };
}

/** How many messages stand as they would again. One of the system's may be spelled by what follows it. */
function countSpelled(history: readonly Fitted[], marks: readonly Mark[]): number {
  let count = 0;
  while (count < marks.length && marks[count]?.message === history[count]) count++;
  while (count > 0 && history[count - 1]?.role === "system") count--;
  return count;
}

/** As if only so many messages had been spelled. */
function rewind(spelled: SpelledMemory, count: number): number {
  if (count === spelled.marks.length) return count;
  const mark = count === 0 ? NOTHING : (spelled.marks[count - 1] ?? NOTHING);
  spelled.marks.length = count;
  const cut = spelled.blocks.splice(mark.blocks).reduce((length, { text }) => length + text.length, 0);
  spelled.text = spelled.text.slice(0, spelled.text.length - cut);
  spelled.leftOut.length = mark.leftOut;
  spelled.claimed = new Set([...spelled.claimed].slice(0, mark.claimed));
  return count;
}

const NOTHING = { blocks: 0, leftOut: 0, claimed: 0 };

/** A body of what stands before a history, the history, and what ends it. */
export function bodyOf(
  head: BlockWriter,
  { blocks, text }: SpelledHistory,
  closing: string,
): { body: string; blocks: EncodedBlock[] } {
  return {
    body: head.body() + text + closing,
    blocks: [...head.blocks, ...blocks, { kind: "frame", sources: [], text: closing }],
  };
}
