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
  /** All of it, between what stands before and behind it elsewhere. Nothing can be written after that. */
  finish(before: string, after: string): string;
  /** Those that were put in pieces have their texts once the body was asked for. */
  blocks: EncodedBlock[];
  body(): string;
};

const NO_SOURCES: Source[] = [];

/**
 * A writer for one body. It grows as one text, which is put together when it is first cut: blocks are stretches of it,
 * and copy nothing. No list holds its pieces: one so long would outlive them, and they with it.
 */
export function blockWriter(): BlockWriter {
  const blocks: EncodedBlock[] = [];
  /** Where each block begins. */
  const starts: number[] = [];
  let text = "";
  let isFinished = false;
  let first = true;

  function start(kind: BlockKind, sources: Source[], whole: string): void {
    blocks.push({ kind, sources, text: whole });
    starts.push(text.length);
    text += whole;
  }

  function add(kind: BlockKind, text: string, sources: Source[]): void {
    if (text !== "") start(kind, sources, text);
  }

  function finish(before: string, after: string): string {
    if (isFinished) throw new Error("a body that was read is finished");
    isFinished = true;
    const end = text.length;
    text = before + text + after;
    for (let index = 0; index < blocks.length; index++) {
      const block = blocks[index];
      if (block?.text !== "") continue;
      const from = before.length + (starts[index] ?? end);
      block.text = text.slice(from, before.length + (starts[index + 1] ?? end));
    }
    return text;
  }

  return {
    blocks,
    body: () => (isFinished ? text : finish("", "")),
    finish,
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
    begin: (from) => start(from.kind, from.sources, ""),
    put(json) {
      text += json;
    },
    quote(said) {
      text += isSafeInJson(said) ? `"${said}"` : quoteWithCare(said);
    },
  };
}
