import { useMemo, useState } from "preact/hooks";
import { audienceOf } from "../../../message/audience.js";
import type { BlockKind, Break, Source } from "../../../message/receipt.js";
import type { MessageRow } from "../../../message/row.js";
import { aboutTokens, bytes, timeOf } from "../figures.js";
import { nameOf } from "../layout.js";
import { goTo } from "../reading.js";
import type { Page } from "../state.js";
import type { Seen, SeenBlock } from "./seen.js";
import { type Passage, type Wording, wordingOf } from "./wording.js";

type Rows = readonly MessageRow[];
type Props = {
  page: Page;
  seen: Seen;
  rows: Rows;
  lit: readonly string[];
  /** The first block that a pinned request does not have. */
  parting: SeenBlock | null;
  /** By the place of a block: why the request is no plain continuation from there on. */
  breaks: readonly Break[];
};

/** Longer words open on request. */
const SHORT = 600;

/** The request block by block, in the order in which the model read it. */
export function Blocks({ page, seen, rows, lit, parting, breaks }: Props) {
  return (
    <>
      <Proportions page={page} blocks={seen.blocks} lit={lit} />
      <ol class="blocks">
        {grouped(seen.blocks).map((group) =>
          Array.isArray(group) ? (
            <Between key={group[0]?.index} blocks={group} />
          ) : (
            <BlockView
              key={group.index}
              page={page}
              block={group}
              rows={rows}
              lit={isLit(group, lit)}
              parts={group === parting}
              why={breaks.find(({ block }) => block === group.index)?.reason ?? null}
            />
          ),
        )}
      </ol>
    </>
  );
}

export function isLit(block: SeenBlock, lit: readonly string[]): boolean {
  return block.sources.some(({ type, id }) => type === "message" && lit.includes(id));
}

export function messagesOf(block: Pick<SeenBlock, "sources">): string[] {
  return block.sources.flatMap(({ type, id }) => (type === "message" ? [id] : []));
}

/** How much of the request each block takes, at a glance. */
function Proportions({ page, blocks, lit }: { page: Page; blocks: SeenBlock[]; lit: readonly string[] }) {
  return (
    <div class="proportions" aria-hidden="true">
      {blocks.map((block) => (
        <button
          key={block.index}
          type="button"
          tabIndex={-1}
          data-kind={block.kind}
          data-lit={isLit(block, lit)}
          style={{ flexGrow: block.size }}
          title={`${KINDS[block.kind]}, ${bytes(block.size)}`}
          onMouseEnter={() => page.set({ lit: messagesOf(block) })}
          onMouseLeave={() => page.set({ lit: [] })}
          onClick={() => document.getElementById(`block-${block.index}`)?.scrollIntoView({ block: "center" })}
        />
      ))}
    </div>
  );
}

/** What a block is called on the page. */
export const KINDS: Readonly<Record<BlockKind, string>> = {
  frame: "between",
  params: "parameters",
  system: "system prompt",
  notice: "notice of this turn",
  tools: "tools",
  summary: "summary",
  thread_context: "thread context",
  message: "message",
};

type BlockProps = {
  page: Page;
  block: SeenBlock;
  rows: Rows;
  lit: boolean;
  parts: boolean;
  why: string | null;
};

function BlockView({ page, block, rows, lit, parts, why }: BlockProps) {
  const light = (ids: string[]) => () => page.set({ lit: ids });
  const wording = useMemo(() => wordingOf(block.kind, block.text), [block.kind, block.text]);
  return (
    <li
      class="block"
      id={`block-${block.index}`}
      data-kind={block.kind}
      data-role={wording.role ?? undefined}
      data-lit={lit}
      data-parts={parts || why !== null}
      onMouseEnter={light(messagesOf(block))}
      onMouseLeave={light([])}
      onFocusCapture={light(messagesOf(block))}
      onBlurCapture={light([])}
    >
      {why && <p class="break">from here on it is not a continuation of the call before: {why}</p>}
      <Told page={page} block={block} rows={rows} wording={wording} />
    </li>
  );
}

/** What a machine needs around the words: one faint line, which opens. */
function Between({ blocks }: { blocks: SeenBlock[] }) {
  const size = blocks.reduce((sum, block) => sum + block.size, 0);
  const kind = blocks.some((block) => block.kind === "params") ? "params" : "frame";
  return (
    <li class="block" data-kind={kind}>
      <details>
        <summary>
          <span class="kind">{KINDS[kind]}</span> <span class="size">{bytes(size)}</span>
        </summary>
        <pre>{blocks.map((block) => block.text).join("")}</pre>
      </details>
    </li>
  );
}

/** Blocks with words stand alone; what lies between two of them is one thing to a reader. */
function grouped(blocks: readonly SeenBlock[]): (SeenBlock | SeenBlock[])[] {
  const groups: (SeenBlock | SeenBlock[])[] = [];
  for (const block of blocks) {
    const last = groups.at(-1);
    const quiet = block.kind === "frame" || block.kind === "params";
    if (!quiet) groups.push(block);
    else if (Array.isArray(last)) last.push(block);
    else groups.push([block]);
  }
  return groups;
}

type ToldProps = {
  page: Page;
  block: Pick<SeenBlock, "kind" | "size" | "sources">;
  rows: Rows;
  wording: Wording;
};

/** A block's kind and size, its words, and where they came from. */
export function Told({ page, block, rows, wording }: ToldProps) {
  const { role, passages } = wording;
  return (
    <>
      <p class="head">
        <span class="kind">{KINDS[block.kind]}</span>
        {role && <span class="role">as {role}</span>}
        <span class="size" title={aboutTokens(block.size)}>
          {bytes(block.size)} · {aboutTokens(block.size)}
        </span>
      </p>
      {passages.map((passage, index) => (
        <Words key={index} passage={passage} />
      ))}
      {block.sources.length > 0 && (
        <p class="sources">
          {block.sources.map((source) => (
            <SourceLink key={`${source.type} ${source.id}`} page={page} source={source} rows={rows} />
          ))}
        </p>
      )}
    </>
  );
}

const GLYPHS: Readonly<Record<Passage["hand"], string>> = {
  words: "",
  machine: "",
  thinking: "💭 ",
  tool: "🔧 ",
};

function Words({ passage }: { passage: Passage }) {
  const [open, setOpen] = useState(false);
  const long = passage.text.length > SHORT;
  // Line breaks at the very beginning are shown as signs: they were sent, and say nothing.
  const text = passage.text.replace(/^\n+/, (breaks) => `${"↵".repeat(breaks.length)} `);
  return (
    <p class="wording" data-hand={passage.hand}>
      {GLYPHS[passage.hand]}
      {long && !open ? `${text.slice(0, SHORT)}…` : text}
      {long && (
        <button class="quiet" type="button" onClick={() => setOpen(!open)}>
          {open ? "less" : `all ${passage.text.length.toLocaleString()} characters`}
        </button>
      )}
    </p>
  );
}

function SourceLink({ page, source, rows }: { page: Page; source: Source; rows: Rows }) {
  if (source.type !== "message") return <span class="source">{sourceName(source)}</span>;
  const row = rows.find(({ id }) => id === source.id);
  return (
    <button class="quiet" type="button" onClick={() => void goTo(page, source.id)}>
      →{" "}
      {row
        ? `${timeOf(row.timestamp)} ${audienceOf(row).shown.glyph || nameOf(row)}`
        : "a message further back"}
    </button>
  );
}

function sourceName({ type, id }: Source): string {
  switch (type) {
    case "prompt":
      return "this chat's prompt";
    case "notice":
      return "said to the model in this turn only";
    case "compaction":
      return "a summary of what came before";
    case "branch_summary":
      return "a summary of the branch that was left";
    default:
      return id ? `${type} ${id}` : type;
  }
}
