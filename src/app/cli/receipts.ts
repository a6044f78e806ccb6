import {
  type BlockChange,
  type CallEnvelope,
  clip,
  type DiffBlock,
  type Replay,
} from "../../message/index.js";
import type { Connection } from "./connect.js";
import { columns, type Output } from "./output.js";
import { plain } from "./plain.js";

const WORDS_SHOWN = 100;
/** Of what both have before the place where they part. */
const WORDS_BEFORE = 30;
const CHANGES_SHOWN = 40;

/** Two calls, block by block. */
export async function diff({ client }: Connection, a: string, b: string, out: Output): Promise<void> {
  const found = await client.diff(a, b);
  if (out.json) return out.result(found, "");
  out.line(columns([heading("a", found.a), heading("b", found.b)]));
  out.line("");
  const { blocks, bytes } = found.same;
  const nothingElse = found.changes.length === 0;
  if (nothingElse) out.line(`The same in all ${blocks} blocks (${bytes} bytes).`);
  else if (found.extends) out.line(`b has all ${blocks} blocks of a (${bytes} bytes), and goes on.`);
  else out.line(partingLine(blocks, bytes, found.first.b ?? found.first.a));
  for (const { block, reason } of found.breaks) out.line(`why   at block ${block}: ${plain(reason)}`);
  if (!nothingElse) out.line("");
  const shown = found.changes.slice(0, CHANGES_SHOWN);
  for (const change of shown) out.line(changeLines(change));
  const more = found.changes.length - shown.length + found.more;
  if (more > 0) out.line(`… and ${more} more: longhand diff ${a} ${b} --json`);
  out.line("");
  for (const sentence of found.cache.says) out.line(sentence);
}

function heading(name: string, call: CallEnvelope): string[] {
  return [name, call.id, `${call.provider}/${call.model}`, `${call.request_size} bytes`, call.started_at];
}

function partingLine(blocks: number, bytes: number, first: DiffBlock | null): string {
  const same =
    blocks === 0 ? "Different from the first block" : `The same for ${blocks} blocks (${bytes} bytes)`;
  return first ? `${same}; they part at block ${first.index}, ${sourceOf(first)}.` : `${same}; then b ends.`;
}

const SIGNS = { added: "+", removed: "-", changed: "~", moved: ">" } as const;

function changeLines({ change, before, after }: BlockChange): string {
  const block = after ?? before;
  const head = `${SIGNS[change]} ${change.padEnd(7)}  ${block ? sourceOf(block) : ""}`;
  if (change === "moved") return head;
  const parting = change === "changed" ? partingPlace(before?.text ?? "", after?.text ?? "") : 0;
  return [head, ...wordLine("-", before, parting), ...wordLine("+", after, parting)].join("\n");
}

function wordLine(sign: string, block: DiffBlock | null, parting: number): string[] {
  if (!block) return [];
  if (block.text === null) return [`    ${sign} (${block.size} bytes that are not shown)`];
  const from = Math.max(0, parting - WORDS_BEFORE);
  return [`    ${sign} ${from > 0 ? "…" : ""}${clip(plain(block.text.slice(from)), WORDS_SHOWN)}`];
}

function partingPlace(before: string, after: string): number {
  let place = 0;
  while (place < before.length && before[place] === after[place]) place++;
  return place;
}

function sourceOf({ kind, sources }: DiffBlock): string {
  const from = sources.map(({ type, id }) => `${type} ${plain(id)}`).join(", ");
  return from === "" ? kind : `${kind} (${from})`;
}

/** The same context once more, and both answers. */
export async function replay(
  { client }: Connection,
  id: string,
  out: Output,
  { model }: { model: string | undefined },
): Promise<void> {
  const made = await client.replay(id, model);
  if (out.json) return out.result(made, "");
  out.line(columns([figures("first", made.original.call), figures("replay", made.replay.call)]));
  for (const [name, { answer }] of [["first", made.original] as const, ["replay", made.replay] as const]) {
    out.line(`\n── ${name} ──\n${answerText(answer)}`);
  }
  out.line("");
  const { exact, differences } = made.context;
  out.line(exact ? "The context was the same, byte for byte." : "The context was not quite the same:");
  for (const difference of differences) out.line(`  ${plain(difference)}`);
  for (const note of made.notes) out.line(plain(note));
  out.line(`What the replay sent: longhand call ${made.replay.call.id}`);
}

function figures(name: string, call: CallEnvelope): string[] {
  const { usage, cost } = call;
  return [
    name,
    `${call.provider}/${call.model}`,
    call.status,
    usage
      ? `${usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens} tokens in, ${usage.output_tokens} out`
      : "no usage",
    cost ? `$${cost.total.toFixed(4)}` : "cost unknown",
    `${call.first_token_ms ?? "?"} ms to the first word, ${call.duration_ms ?? "?"} ms in all`,
  ];
}

function answerText(answer: Replay["replay"]["answer"]): string {
  if (!answer) return "(no answer is kept)";
  const lines = [
    ...(answer.thinking === "" ? [] : [`(thinking) ${plain(answer.thinking)}`]),
    ...(answer.text === "" ? [] : [plain(answer.text)]),
    ...answer.tool_calls.map(
      ({ name, args }) => `(asks for the tool ${plain(name)}) ${plain(JSON.stringify(args))}`,
    ),
  ];
  return lines.length === 0 ? "(nothing was said)" : lines.join("\n");
}
