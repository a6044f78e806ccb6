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
  /** A text as a JSON string. */
  quote(text: string): void;
  /** How many blocks have begun. */
  count(): number;
  readonly blocks: EncodedBlock[];
  body(): string;
};

const NO_SOURCES: Source[] = [];

/** A writer for one body. It is put together once, at the end; the blocks are stretches of it. */
export function blockWriter(): BlockWriter {
  const pieces: string[] = [];
  const blocks: EncodedBlock[] = [];
  /** Of each block, which piece is its first. */
  const starts: number[] = [];
  let text = "";
  let finished = 0;
  let first = true;

  function start(kind: BlockKind, sources: Source[]): void {
    blocks.push({ kind, sources, text: "" });
    starts.push(pieces.length);
  }

  function add(kind: BlockKind, text: string, sources: Source[]): void {
    if (text === "") return;
    start(kind, sources);
    pieces.push(text);
  }

  /** A block of one piece is that piece; others are cut out of the whole, which copies nothing. */
  function finish(): void {
    if (finished === blocks.length) return;
    if (finished > 0) throw new Error("a body that was read is finished");
    finished = blocks.length;
    text = pieces.join("");
    let at = 0;
    for (let index = 0; index < blocks.length; index++) {
      const block = blocks[index];
      const from = starts[index] ?? 0;
      const to = starts[index + 1] ?? pieces.length;
      let length = 0;
      for (let piece = from; piece < to; piece++) length += pieces[piece]?.length ?? 0;
      if (block) block.text = to - from === 1 ? (pieces[from] ?? "") : text.slice(at, at + length);
      at += length;
    }
  }

  return {
    get blocks() {
      finish();
      return blocks;
    },
    body() {
      finish();
      return text;
    },
    add,
    frame: (text) => add("frame", text, NO_SOURCES),
    list(text) {
      add("frame", text, NO_SOURCES);
      first = true;
    },
    item(from, text) {
      if (!first) add("frame", ",", NO_SOURCES);
      first = false;
      add(from.kind, text, from.sources);
    },
    count: () => blocks.length,
    begin: (from) => start(from.kind, from.sources),
    put(json) {
      pieces.push(json);
    },
    quote(text) {
      if (isSafeInJson(text)) pieces.push('"', text, '"');
      else pieces.push(quoteWithCare(text));
    },
  };
}
