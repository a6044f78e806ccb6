import type { BlockKind, Origin, Source } from "../message/index.js";
import type { EncodedBlock } from "./codec.js";
import { isSafeInJson, quoteWithCare } from "./json.js";

/** Writes a body from left to right as blocks. An empty text is no block. */
export type BlockWriter = {
  frame(text: string): void;
  add(kind: BlockKind, text: string, sources: Source[]): void;
  /** A value in a list: a comma stands before it, as a block of its own, unless it is the first. */
  item(from: Origin, text: string): void;
  /** A list begins; the next item is its first. */
  list(text: string): void;
  /** A block begins. What is put belongs to it, until another begins. */
  begin(from: Origin): void;
  /** JSON, or some of it. */
  put(json: string): void;
  /** A text as a JSON string, in what stands around it. */
  quote(text: string, around?: Around): void;
  /** How many blocks have begun. */
  count(): number;
  /** All of it, between what stands before and behind it elsewhere. Nothing can be written after that. */
  finish(before: string, after: string): string;
  /** Those that were put in pieces have their texts once the body was asked for. */
  blocks: EncodedBlock[];
  body(): string;
};

/** What stands before and behind a JSON string, without its quotes and with them. */
export type Around = { bare: readonly [string, string]; quoted: readonly [string, string] };

/** The surroundings of a JSON string, put together once for all strings that stand in them. */
export function around(before: string, after: string): Around {
  return { bare: [before, after], quoted: [`${before}"`, `"${after}`] };
}

const NO_SOURCES: Source[] = [];
const ALONE = around("", "");
/** What stands between blocks is the same few texts in every body. */
const FRAMES = new Map<string, EncodedBlock>();
const MOST_FRAMES = 100;

function frameOf(text: string): EncodedBlock {
  const known = FRAMES.get(text);
  if (known) return known;
  const frame: EncodedBlock = { kind: "frame", sources: NO_SOURCES, text };
  if (FRAMES.size < MOST_FRAMES && text.length < MOST_FRAMES) FRAMES.set(text, frame);
  return frame;
}

/** A writer for one body. */
export function blockWriter(): BlockWriter {
  return new BodyWriter();
}

/**
 * The body grows as one text, which is put together when it is first cut: blocks are stretches of it, and copy nothing.
 * No list holds its pieces: one so long would outlive them, and they with it.
 */
export class BodyWriter implements BlockWriter {
  readonly blocks: EncodedBlock[] = [];
  /** Where each block begins. */
  private readonly starts: number[] = [];
  private text = "";
  private isFinished = false;
  private isFirst = true;

  frame(text: string): void {
    if (text !== "") this.start(frameOf(text));
  }

  add(kind: BlockKind, text: string, sources: Source[]): void {
    if (text !== "") this.start({ kind, sources, text });
  }

  list(text: string): void {
    this.frame(text);
    this.isFirst = true;
  }

  item(from: Origin, text: string): void {
    if (!this.isFirst) this.frame(",");
    this.isFirst = false;
    this.add(from.kind, text, from.sources);
  }

  begin({ kind, sources }: Origin): void {
    this.start({ kind, sources, text: "" });
  }

  put(json: string): void {
    this.text += json;
  }

  quote(text: string, { bare, quoted } = ALONE): void {
    if (isSafeInJson(text)) this.text = this.text + quoted[0] + text + quoted[1];
    else this.text = this.text + bare[0] + quoteWithCare(text) + bare[1];
  }

  count(): number {
    return this.blocks.length;
  }

  body(): string {
    return this.isFinished ? this.text : this.finish("", "");
  }

  finish(before: string, after: string): string {
    if (this.isFinished) throw new Error("a body that was read is finished");
    this.isFinished = true;
    const { blocks, starts } = this;
    const end = this.text.length;
    const whole = before + this.text + after;
    for (let index = 0; index < blocks.length; index++) {
      const block = blocks[index];
      if (block?.text !== "") continue;
      const from = before.length + (starts[index] ?? end);
      block.text = whole.slice(from, before.length + (starts[index + 1] ?? end));
    }
    this.text = whole;
    return whole;
  }

  private start(block: EncodedBlock): void {
    this.blocks.push(block);
    this.starts.push(this.text.length);
    this.text += block.text;
  }
}
