import type { LeftOut } from "../message/index.js";
import { showsApart } from "./anthropicMessage.js";
import type { Claude } from "./anthropicModel.js";
import { serverBlockIn } from "./anthropicServerTools.js";
import type { ModelRequest } from "./codec.js";
import { type Fitted, isBlank } from "./fitted.js";
import { leaveOut } from "./origin.js";

type Assistant = Extract<Fitted, { role: "assistant" }>;
type Part = Assistant["parts"][number];

/**
 * Answers with the thinking the API takes back: signed, and followed by something. What has no signature is text by
 * now; an answer that had nothing else is left out.
 */
export function signedThinking(history: readonly Fitted[]): { history: Fitted[]; leftOut: LeftOut[] } {
  const leftOut: LeftOut[] = [];
  const fitted: Fitted[] = [];
  for (const one of history) {
    const taken =
      one.role !== "assistant" || isWhollyTaken(one) ? one : remembered(TAKEN, one, withSignedThinking);
    if (taken) fitted.push(taken);
    else leftOut.push(...leaveOut(one.from, "thinking alone, which this API cannot take back"));
  }
  return { history: fitted, leftOut };
}

/** What was made of an answer once is made of it again, the same value, by which its spelling is known again. */
const TAKEN = new WeakMap<Assistant, Assistant | null>();
const THOUGHTLESS = new WeakMap<Assistant, Assistant>();

function remembered<Made>(
  known: WeakMap<Assistant, Made>,
  one: Assistant,
  make: (one: Assistant) => Made,
): Made {
  const before = known.get(one);
  if (before !== undefined) return before;
  const made = make(one);
  known.set(one, made);
  return made;
}

function isWhollyTaken({ parts }: Assistant): boolean {
  return parts.at(-1)?.type !== "thinking" && parts.every(isTaken);
}

function withSignedThinking(one: Assistant): Assistant | null {
  const parts = one.parts.flatMap(asTaken);
  while (parts.at(-1)?.type === "thinking") parts.pop();
  return parts.length > 0 ? { ...one, parts } : null;
}

function isTaken(part: Part): boolean {
  if (part.type === "text") return !isBlank(part.text) || serverBlockIn(part.native) !== null;
  return part.type !== "thinking" || part.thinking.signature !== "";
}

function asTaken(part: Part): Part[] {
  if (part.type === "text") return isTaken(part) ? [part] : [];
  if (part.type !== "thinking" || part.thinking.signature !== "") return [part];
  const { content, redacted } = part.thinking;
  return isBlank(content) || redacted ? [] : [{ type: "text", text: content }];
}

/** How a request asks for thinking. */
export type ThinkingPlan = {
  /** The fields of the body that say so. */
  params: {
    thinking?: { type: string; budget_tokens?: number; display?: string };
    output_config?: { effort: string };
  };
  /** Whether the thinking of the unfinished tool loop may go back. */
  keepsLoop: boolean;
};

const BUDGET = { low: 2048, medium: 8192, high: 16_384 } as const;
const LEAST_BUDGET = 1024;

/**
 * Decides about thinking. The API refuses a loop of tool calls that began with thinking and goes on without it, and,
 * on older models, one that began without and goes on with it; so where nobody said, what was begun is kept up.
 */
export function planThinking(
  claude: Claude,
  asked: ModelRequest["thinking"],
  maxTokens: number,
  history: readonly Fitted[],
): ThinkingPlan {
  const loop = openLoop(history);
  const begun = claude.unasked === "off" && loop.some(hasThinking);
  const wanted = asked ?? (begun ? "low" : undefined);
  if (wanted === undefined || wanted === "off") return unasked(claude, wanted);
  switch (claude.thinking) {
    case "none":
      return unasked(claude, "off");
    case "adaptive": {
      const thinking = { type: "adaptive", ...(claude.hidesThinking ? { display: "summarized" } : {}) };
      const effort = asked === undefined ? {} : { output_config: { effort: wanted } };
      return { params: { thinking, ...effort }, keepsLoop: true };
    }
    case "budget": {
      const budget = Math.min(BUDGET[wanted], maxTokens - LEAST_BUDGET);
      const tooLate = claude.strictLoops && loop[0] !== undefined && loop[0].parts[0]?.type !== "thinking";
      if (budget < LEAST_BUDGET || tooLate) return unasked(claude, "off");
      return { params: { thinking: { type: "enabled", budget_tokens: budget } }, keepsLoop: true };
    }
  }
}

function unasked(claude: Claude, wanted: "off" | undefined): ThinkingPlan {
  switch (claude.unasked) {
    case "off":
      return { params: {}, keepsLoop: false };
    case "on":
      return wanted === "off"
        ? { params: { thinking: { type: "disabled" } }, keepsLoop: false }
        : { params: {}, keepsLoop: true };
    case "always": {
      const least = wanted === "off" && claude.thinking === "adaptive";
      return { params: least ? { output_config: { effort: "low" } } : {}, keepsLoop: true };
    }
  }
}

/** The answers since something other than results was said, if the last of them called tools and the model is to go on. */
function openLoop(history: readonly Fitted[]): Assistant[] {
  const loop: Assistant[] = [];
  for (let at = history.findLastIndex((one) => one.role === "assistant"); at >= 0; at--) {
    const one = history[at];
    if (one?.role !== "assistant" || (loop.length > 0 && endsLoop(one))) break;
    loop.push(one);
  }
  return loop[0]?.results.length ? loop.reverse() : [];
}

function endsLoop(one: Fitted): boolean {
  return one.role !== "assistant" || one.results.some(showsApart);
}

function hasThinking({ parts }: Assistant): boolean {
  return parts.some((part) => part.type === "thinking");
}

/** The history without the thinking of its unfinished loop. */
export function withoutLoopThinking(history: readonly Fitted[]): Fitted[] {
  const loop = openLoop(history);
  if (!loop.some(hasThinking)) return [...history];
  const last = history.findLastIndex((one) => one.role === "assistant");
  const thoughtless = loop.map((one) => remembered(THOUGHTLESS, one, withoutThinking));
  return [...history.slice(0, last + 1 - loop.length), ...thoughtless, ...history.slice(last + 1)];
}

function withoutThinking(one: Assistant): Assistant {
  return hasThinking(one) ? { ...one, parts: one.parts.filter((part) => part.type !== "thinking") } : one;
}
