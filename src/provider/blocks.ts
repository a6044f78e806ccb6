import type { BlockKind, Origin, Source } from "../message/index.js";
import type { EncodedBlock } from "./codec.js";

/** Writes a body from left to right as blocks. An empty text is no block. */
export type BlockWriter = {
  frame(text: string): void;
  add(kind: BlockKind, text: string, sources: Source[]): void;
  /** A value in a list: a comma stands before it, as a block of its own, unless it is the first. */
  item(from: Origin, text: string): void;
  /** A list begins; the next item is its first. */
  list(text: string): void;
  blocks: EncodedBlock[];
  body(): string;
};

const NO_SOURCES: Source[] = [];

/** A writer for one body. */
export function blockWriter(): BlockWriter {
  const blocks: EncodedBlock[] = [];
  let body = "";
  let first = true;
  const add = (kind: BlockKind, text: string, sources: Source[]): void => {
    if (text === "") return;
    blocks.push({ kind, sources, text });
    body += text;
  };
  return {
    blocks,
    body: () => body,
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
  };
}
