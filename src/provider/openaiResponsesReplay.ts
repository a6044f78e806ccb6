import { createHash } from "node:crypto";
import type { ThinkingContent } from "../message/index.js";
import type { Model } from "./codec.js";
import { type CallPart, isBlank, type TextPart, type ThinkingPart } from "./fitted.js";
import { toJson } from "./json.js";
import { isAtOpenai } from "./openaiResponsesParams.js";
import { readTrace, type Trace } from "./openaiResponsesTrace.js";
import type { Spelling } from "./spelling.js";

type Part = TextPart | ThinkingPart | CallPart;
type Reasoning = { type: "reasoning"; trace: Trace | null; thinking: ThinkingContent };
type Text = { type: "text"; trace: Trace | null; text: string };
type Call = { type: "call"; trace: Trace | null; call: CallPart };
type Piece = Reasoning | Text | Call;

const ITEM_ID = {
  reasoning: /^rs_[\w-]{1,61}$/,
  text: /^msg_[\w-]{1,60}$/,
  call: /^fc_[\w-]{1,61}$/,
} as const;

/** Spells an answer as items, and says whether there were any. No id may stand in a request twice. */
export type Replay = (parts: readonly Part[], spelling: Spelling, begin: () => void) => boolean;

/** How answers go back to a model. */
export function openaiResponsesReplay({ api, baseUrl }: Model): Replay {
  // OpenAI looks for reasoning that is not encrypted among what it stored; others want it back as it is.
  const takesPlainReasoning = !isAtOpenai(baseUrl);

  function canGoBack({ trace, thinking }: Reasoning, spelling: Spelling): boolean {
    const id = idOf({ type: "reasoning", trace, thinking });
    if (id !== null && spelling.isClaimed(id)) return false;
    return thinking.signature !== "" || (takesPlainReasoning && hasPlainReasoning(trace));
  }

  return (parts, spelling, begin) => {
    const pieces = inOrder(parts.flatMap((part) => pieceOf(part, api)));
    const kept = withoutLoneReasoning(pieces, (piece) => canGoBack(piece, spelling));
    const whole = isWhole(kept);
    for (const group of inItems(kept)) {
      const [first] = group;
      const id = whole || first.type === "reasoning" ? idOf(first) : null;
      const own = id !== null && spelling.claim(id) ? id : null;
      begin();
      spellItem(group, own ?? standInId(first, spelling), spelling);
    }
    return kept.length > 0;
  };
}

/**
 * The vendor's type of a reasoning wants an id, also at servers that give none. Where the reasoning is encrypted, so is
 * its id: another would be refused, and none is taken.
 */
function standInId(piece: Piece, spelling: Spelling): string | null {
  if (piece.type !== "reasoning" || piece.thinking.signature !== "") return null;
  for (let use = 0; ; use++) {
    const made = JSON.stringify([piece.thinking.content, use]);
    const id = `rs_${createHash("sha256").update(made).digest("hex").slice(0, 32)}`;
    if (spelling.claim(id)) return id;
  }
}

function pieceOf(part: Part, api: string): Piece[] {
  switch (part.type) {
    case "text":
      if (isBlank(part.text)) return [];
      return [{ type: "text", trace: readTrace(part.native, api), text: part.text }];
    case "thinking":
      return [{ type: "reasoning", trace: readTrace(part.thinking.native, api), thinking: part.thinking }];
    case "tool_call":
      return [{ type: "call", trace: readTrace(part.native, api), call: part }];
  }
}

/** As the model said them: a stored answer has its calls last, wherever they stood. */
function inOrder(pieces: readonly Piece[]): Piece[] {
  const places = pieces.map(({ trace }) => trace?.at);
  if (places.includes(undefined)) return [...pieces];
  return pieces.toSorted((a, b) => (a.trace?.at ?? 0) - (b.trace?.at ?? 0));
}

/** Reasoning is refused without the items it stood between, so it stays only where they do; each loss may cause others. */
function withoutLoneReasoning(pieces: readonly Piece[], canGoBack: (piece: Reasoning) => boolean): Piece[] {
  let kept = withoutRepeats(pieces).filter((piece) => piece.type !== "reasoning" || canGoBack(piece));
  for (;;) {
    const left = kept.filter((piece, at) => {
      return piece.type !== "reasoning" || isBetween(kept[at - 1], piece, kept[at + 1]);
    });
    if (left.length === kept.length) return left;
    kept = left;
  }
}

function withoutRepeats(pieces: readonly Piece[]): Piece[] {
  const seen = new Set<string>();
  return pieces.filter((piece) => {
    const id = piece.type === "reasoning" ? idOf(piece) : null;
    const isRepeat = id !== null && seen.has(id);
    if (id !== null) seen.add(id);
    return !isRepeat;
  });
}

function isBetween(before: Piece | undefined, { trace }: Reasoning, next: Piece | undefined): boolean {
  if (!next) return false;
  if (trace === null) return true;
  return (trace.at === 0 || before?.trace?.at === trace.at - 1) && next.trace?.at === trace.at + 1;
}

/** Is every item of the answer there? An id tells the server to look for its neighbours. */
function isWhole(pieces: readonly Piece[]): boolean {
  let last = -1;
  return pieces.every(({ type, trace }) => {
    if (trace === null) return false;
    const fits = trace.at === last + 1 || (type === "text" && trace.at === last);
    last = trace.at;
    return fits;
  });
}

/** Texts of one item together, and so are texts of another model: it has no items. */
function inItems(pieces: readonly Piece[]): [Piece, ...Piece[]][] {
  const items: [Piece, ...Piece[]][] = [];
  for (const piece of pieces) {
    const last = items.at(-1);
    if (last && piece.type === "text" && last[0].type === "text" && last[0].trace?.at === piece.trace?.at)
      last.push(piece);
    else items.push([piece]);
  }
  return items;
}

function idOf({ type, trace }: Piece): string | null {
  const id = type === "reasoning" ? trace?.item?.id : trace?.id;
  return typeof id === "string" && ITEM_ID[type].test(id) ? id : null;
}

function spellItem(group: readonly [Piece, ...Piece[]], id: string | null, spelling: Spelling): void {
  const [first] = group;
  switch (first.type) {
    case "reasoning":
      spelling.put(reasoningJson(first, id));
      return;
    case "call":
      spellCall(first.call, id, spelling);
      return;
    case "text": {
      const texts = group.flatMap((piece) => (piece.type === "text" ? [piece.text] : []));
      spellMessage(first, texts, id, spelling);
    }
  }
}

function hasPlainReasoning(trace: Trace | null): boolean {
  const content = trace?.item?.content;
  return Array.isArray(content) && content.length > 0;
}

function reasoningJson({ trace, thinking }: Reasoning, id: string | null): string {
  const { id: _, summary, ...rest } = trace?.item ?? {};
  const told = isBlank(thinking.content) ? [] : [{ type: "summary_text", text: thinking.content }];
  return toJson({
    ...rest,
    type: "reasoning",
    ...(id === null ? {} : { id }),
    summary: Array.isArray(summary) ? summary : told,
    ...(thinking.signature === "" ? {} : { encrypted_content: thinking.signature }),
  });
}

/** Ids and names are of letters that need no quoting by now. */
function spellCall({ id: callId, name, args }: CallPart, id: string | null, spelling: Spelling): void {
  const own = id === null ? "" : `"id":"${id}",`;
  spelling.put(`{"type":"function_call",${own}"call_id":"${callId}","name":"${name}","arguments":`);
  spelling.quote(toJson(args));
  spelling.put("}");
}

const PHASES: readonly unknown[] = ["commentary", "final_answer"];

/** With its id it is an output item, which has parts; without, the API's short form, which is a string. */
function spellMessage(
  { trace }: Text,
  texts: readonly string[],
  id: string | null,
  spelling: Spelling,
): void {
  const phase = PHASES.includes(trace?.phase) ? `,"phase":"${trace?.phase}"` : "";
  if (id === null) {
    spelling.put('{"type":"message","role":"assistant","content":');
    spelling.quote(texts.join(trace === null ? "\n\n" : ""));
    spelling.put(`${phase}}`);
    return;
  }
  spelling.put(`{"type":"message","id":"${id}","role":"assistant","status":"completed","content":[`);
  texts.forEach((text, at) => {
    spelling.put(`${at === 0 ? "" : ","}{"type":"output_text","text":`);
    spelling.quote(text);
    spelling.put(',"annotations":[]}');
  });
  spelling.put(`]${phase}}`);
}
