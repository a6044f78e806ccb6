import type { LeftOut, Origin } from "../message/index.js";
import { type BlockWriter, BodyWriter } from "./blocks.js";
import type { EncodedBlock, Model } from "./codec.js";
import type { Fitted } from "./fitted.js";
import { type FitMemory, fitMemory } from "./handoff.js";
import { leaveOut } from "./origin.js";

/** A history on its way into a body: what an API's spelling of a message writes to, and what it must know of those before. */
export class Spelling extends BodyWriter {
  /** The role of what was written last, in the API's words; empty before anything was. */
  role: string;

  constructor(private readonly spelled: SpelledMemory) {
    super();
    this.role = spelled.marks.at(-1)?.role ?? "";
  }

  leaveOut(from: Origin, reason: string): void {
    this.spelled.leftOut.push(...leaveOut(from, reason));
  }

  isClaimed(id: string): boolean {
    return this.spelled.claimed.has(id);
  }

  /** An id that may stand in a body once: false when it does already. */
  claim(id: string): boolean {
    if (this.isClaimed(id)) return false;
    this.spelled.claimed.add(id);
    return true;
  }
}

/** How one message of a history is spelled. It may look at what follows a system message, and at nothing else behind. */
export type Spell = (message: Fitted, spelling: Spelling, at: number, history: readonly Fitted[]) => void;

/** How far a spelled history had come, after one of its messages. */
type Mark = { message: Fitted; role: string; blocks: number; leftOut: number; claimed: number };

/** A history as it was spelled. */
type SpelledMemory = {
  marks: Mark[];
  blocks: EncodedBlock[];
  /** All of the blocks, as what each request added. */
  texts: string[];
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
  return { marks: [], blocks: [], texts: [], leftOut: [], claimed: new Set() };
}

/** A memory made ready for a model: what was spelled for another says nothing. */
export function memoryFor(model: Model, memory: EncodeMemory = encodeMemory()): EncodeMemory {
  const { apiKey: _, ...known } = model;
  const key = JSON.stringify({ ...known, signing: null });
  if (memory.key !== key) Object.assign(memory, encodeMemory(), { key });
  return memory;
}

/** A history that was spelled, and whose new blocks are yet to be put together. */
export type SpelledHistory = {
  spelled: SpelledMemory;
  writer: BlockWriter;
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
  const spelling = new Spelling(spelled);
  const before = spelled.blocks.length;
  for (let at = from; at < history.length; at++) {
    const message = history[at];
    if (!message) continue;
    spell(message, spelling, at, history);
    spelled.marks.push({
      message,
      role: spelling.role,
      blocks: before + spelling.count(),
      leftOut: spelled.leftOut.length,
      claimed: spelled.claimed.size,
    });
  }
  return { spelled, writer: spelling, role: spelling.role, leftOut: spelled.leftOut };
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
  const cut = spelled.blocks.splice(mark.blocks);
  cutEnd(
    spelled.texts,
    cut.reduce((length, { text }) => length + text.length, 0),
  );
  spelled.leftOut.length = mark.leftOut;
  spelled.claimed = new Set([...spelled.claimed].slice(0, mark.claimed));
  return count;
}

/** Takes so many characters from the end. */
function cutEnd(texts: string[], length: number): void {
  let left = length;
  for (let last = texts.pop(); last !== undefined; last = texts.pop()) {
    if (last.length > left) {
      texts.push(last.slice(0, last.length - left));
      return;
    }
    left -= last.length;
  }
}

const NOTHING = { blocks: 0, leftOut: 0, claimed: 0 };

const MOST_TEXTS = 64;

/**
 * A body of what stands before a history, the history, and what ends it. The first of a chat is put together in one go,
 * and its blocks are stretches of it; later ones are what was there and what is new.
 */
export function bodyOf(
  head: BlockWriter,
  { spelled, writer }: SpelledHistory,
  closing: string,
): { body: string; blocks: EncodedBlock[] } {
  const before = head.body();
  let body: string;
  if (spelled.blocks.length === 0) {
    body = writer.finish(before, closing);
    spelled.texts = [body.slice(before.length, body.length - closing.length)];
  } else {
    spelled.texts.push(writer.body());
    if (spelled.texts.length > MOST_TEXTS) spelled.texts = [spelled.texts.join("")];
    body = before;
    for (const text of spelled.texts) body += text;
    body += closing;
  }
  for (const block of writer.blocks) spelled.blocks.push(block);
  return { body, blocks: head.blocks.concat(spelled.blocks, { kind: "frame", sources: [], text: closing }) };
}
