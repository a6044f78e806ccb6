import type { ThinkingContent } from "../message/index.js";
import type { Model } from "./codec.js";
import { type CallPart, isBlank, type TextPart, type ThinkingPart } from "./fitted.js";
import { quote, toJson } from "./json.js";
import { isAtOpenai } from "./openaiResponsesParams.js";
import { readTrace, type Trace } from "./openaiResponsesTrace.js";

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

/** Spells the answers of one request, one after the other: no id may stand in it twice. */
export function openaiResponsesReplay({ api, baseUrl }: Model): (parts: readonly Part[]) => string[] {
  const used = new Set<string>();
  // OpenAI looks for reasoning that is not encrypted among what it stored; others want it back as it is.
  const takesPlainReasoning = !isAtOpenai(baseUrl);

  function canGoBack({ trace, thinking }: Reasoning): boolean {
    if (trace?.item && used.has(idOf({ type: "reasoning", trace, thinking }) ?? "")) return false;
    return thinking.signature !== "" || (takesPlainReasoning && hasPlainReasoning(trace));
  }

  /** Gives the id at most once. */
  function claimId(piece: Piece): string | null {
    const id = idOf(piece);
    if (id === null || used.has(id)) return null;
    used.add(id);
    return id;
  }

  return (parts) => {
    const pieces = inOrder(parts.flatMap((part) => pieceOf(part, api)));
    const kept = withoutLoneReasoning(pieces, canGoBack);
    const whole = isWhole(kept);
    return inItems(kept).map((group) => {
      const [first] = group;
      const id = whole || first.type === "reasoning" ? claimId(first) : null;
      return itemJson(group, id);
    });
  };
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

function itemJson(group: readonly [Piece, ...Piece[]], id: string | null): string {
  const [first] = group;
  switch (first.type) {
    case "reasoning":
      return reasoningJson(first, id);
    case "call":
      return callJson(first.call, id);
    case "text":
      return messageJson(
        first,
        group.flatMap((piece) => (piece.type === "text" ? [piece.text] : [])),
        id,
      );
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

function callJson({ id: callId, name, args }: CallPart, id: string | null): string {
  const own = id === null ? "" : `"id":${quote(id)},`;
  return `{"type":"function_call",${own}"call_id":${quote(callId)},"name":${quote(name)},"arguments":${quote(toJson(args))}}`;
}

const PHASES: readonly unknown[] = ["commentary", "final_answer"];

/** With its id it is an output item, which has parts; without, the API's short form, which is a string. */
function messageJson({ trace }: Text, texts: readonly string[], id: string | null): string {
  const phase = PHASES.includes(trace?.phase) ? { phase: trace?.phase } : {};
  if (id === null) {
    const content = texts.join(trace === null ? "\n\n" : "");
    return toJson({ type: "message", role: "assistant", content, ...phase });
  }
  const content = texts.map((text) => ({ type: "output_text", text, annotations: [] }));
  return toJson({ type: "message", id, role: "assistant", status: "completed", content, ...phase });
}
