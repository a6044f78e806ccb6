import { ratesAt } from "../agent/index.js";
import { firstBreak } from "../context/index.js";
import {
  type BlockChange,
  type CacheCost,
  type CallDiff,
  type CallEnvelope,
  changesBetween,
  type Comparison,
  compareBlocks,
  type DiffBlock,
} from "../message/index.js";
import type { Hall } from "./hall.js";
import { modelOfCall } from "./models.js";
import { type KeptReceipt, keptReceipt, modelName, type ReceiptGone } from "./receipts.js";

export type DiffResult = { ok: true; diff: CallDiff } | ReceiptGone;

/** More changes than anybody reads. */
const MOST_CHANGES = 500;
/** Of one text, and of all texts of an answer, in UTF-16 code units. The request itself has them whole. */
const LONGEST_TEXT = 16_000;
const MOST_TEXT = 1_000_000;
/** Bytes of a request for one token, where nobody reported any. */
const GUESSED_BYTES_PER_TOKEN = 4;

/** Two calls, block by block: where they part, what changed, why, and what that cost in the provider's cache. */
export async function diffCalls(hall: Hall, a: string, b: string): Promise<DiffResult> {
  const earlier = await keptReceipt(hall, a);
  if (!earlier.ok) return earlier;
  const later = await keptReceipt(hall, b);
  if (!later.ok) return later;
  const before = readable(earlier);
  const after = readable(later);
  const comparison = compareBlocks(before, after);
  const all = changesBetween(before, after);
  const shorten = shortener();
  const changes = all.slice(0, MOST_CHANGES).map(
    ({ change, before, after }): BlockChange => ({
      change,
      before: before && shorten(before),
      after: after && shorten(after),
    }),
  );
  const { firstBefore, first } = comparison;
  return {
    ok: true,
    diff: {
      a: earlier.call,
      b: later.call,
      same: { blocks: comparison.count, bytes: comparison.same },
      extends: comparison.extends,
      first: { a: firstBefore && shorten(firstBefore), b: first && shorten(first) },
      changes,
      more: all.length - changes.length,
      breaks: breaksBetween(earlier, later, before, after),
      declared: later.request.breaks,
      cache: await cacheCost(hall, earlier.call, later.call, comparison),
    },
  };
}

function readable({ request }: KeptReceipt): DiffBlock[] {
  const decoder = new TextDecoder();
  return request.blocks.map(({ bytes, ...block }, index) => ({
    ...block,
    index,
    text: bytes && decoder.decode(bytes),
    cut: false,
  }));
}

/** Keeps an answer from growing with what was said: each text has an end, and so have all together. */
function shortener(): (block: DiffBlock) => DiffBlock {
  const shortened = new Map<DiffBlock, DiffBlock>();
  let left = MOST_TEXT;
  return (block) => {
    const known = shortened.get(block);
    if (known) return known;
    const length = Math.min(LONGEST_TEXT, left);
    const text = block.text === null || length === 0 ? null : block.text.slice(0, length);
    left -= text?.length ?? 0;
    const made = { ...block, text, cut: block.text !== null && text !== block.text };
    shortened.set(block, made);
    return made;
  };
}

/** The ids of two chats say nothing about each other; there, the words have to. */
function breaksBetween(a: KeptReceipt, b: KeptReceipt, before: DiffBlock[], after: DiffBlock[]) {
  const isOneChat = a.call.chat_jid === b.call.chat_jid;
  const named = (blocks: DiffBlock[]) =>
    isOneChat ? blocks : blocks.map((block) => ({ ...block, id: block.text ?? block.id }));
  return firstBreak(named(before), named(after), {
    left_out: b.request.left_out,
    models: { previous: modelName(a.call), next: modelName(b.call) },
    since: a.call.id,
  });
}

async function cacheCost(
  hall: Hall,
  a: CallEnvelope,
  b: CallEnvelope,
  comparison: Comparison<DiffBlock>,
): Promise<CacheCost> {
  const tokensIn = tokensOf(b);
  const bytesPerToken = tokensIn > 0 ? b.request_size / tokensIn : GUESSED_BYTES_PER_TOKEN;
  const lost = Math.round(comparison.resent / bytesPerToken);
  const cost: Omit<CacheCost, "says"> = {
    reported: { a: reportedOf(a), b: reportedOf(b) },
    estimated: {
      bytes_per_token: Math.round(bytesPerToken * 100) / 100,
      by: tokensIn > 0 ? "usage" : "guess",
      shared_tokens: Math.round(comparison.same / bytesPerToken),
      lost_tokens: lost,
      lost_usd: await priceOf(hall, b, lost),
    },
  };
  return { ...cost, says: inSentences(a, b, comparison, cost) };
}

function tokensOf({ usage }: CallEnvelope): number {
  return usage ? usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens : 0;
}

function reportedOf({ usage }: CallEnvelope): CacheCost["reported"]["a"] {
  if (!usage) return null;
  const { input_tokens, cache_read_tokens, cache_write_tokens } = usage;
  return { input_tokens, cache_read_tokens, cache_write_tokens };
}

/** What tokens cost more than they would from a cache, at the price of that moment as it is known now. */
async function priceOf(hall: Hall, call: CallEnvelope, tokens: number): Promise<number | null> {
  const found = await modelOfCall(hall, call);
  if (!found.ok || found.model.price === null) return null;
  const rates = ratesAt(found.model.price, Date.parse(call.started_at), tokensOf(call));
  return (tokens * Math.max(0, rates.input - rates.cacheRead)) / 1_000_000;
}

function inSentences(
  a: CallEnvelope,
  b: CallEnvelope,
  { same, fresh, resent, extends: goesOn }: Comparison<DiffBlock>,
  { reported, estimated }: Omit<CacheCost, "says">,
): string[] {
  const about = (tokens: number) => `about ${tokens} tokens, estimated`;
  const says: string[] = [];
  if (modelName(a) !== modelName(b)) {
    says.push("They went to different models, and no cache is shared between models.");
  } else if (same > 0) {
    says.push(`A cache can give the ${same} bytes both begin with (${about(estimated.shared_tokens)}).`);
  }
  if (goesOn) says.push(fresh > 0 ? `The ${fresh} bytes after that are new.` : "Nothing after that is new.");
  else {
    const money = !estimated.lost_usd ? "" : `, $${estimated.lost_usd.toFixed(6)} more than from a cache`;
    says.push(
      resent === 0
        ? `Behind the difference nothing was sent a second time; ${fresh} bytes are new.`
        : `${resent} bytes had been sent before and were sent again behind the difference (${about(estimated.lost_tokens)}${money}).`,
    );
  }
  says.push(
    reported.b
      ? `The provider reports ${reported.b.cache_read_tokens} tokens read from its cache for the second call, of ${tokensOf(b)}.`
      : "The provider reported no usage for the second call.",
  );
  return says;
}
