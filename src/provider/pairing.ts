import type { LLMMessage, ToolResultContent } from "../message/index.js";

/** A tool result, the message it came in, and which of that message's contents it was. */
export type Answer = { result: ToolResultContent; message: LLMMessage; index: number };

/** Which result answers which call. */
export type Pairing = {
  /** For each message, the answers to its tool calls in call order; null where none came. */
  answers: ReadonlyMap<number, (Answer | null)[]>;
  /** Results that answer nothing, with why. */
  unused: { answer: Answer; reason: string }[];
};

type Batch = { at: number; slots: number[]; failed: boolean };

/**
 * Pairs every tool call with the first result for it that comes later. Where an id was used again, a result belongs
 * to the newest message that used it. Results inside user messages count like those in tool messages.
 */
export function pairResults(messages: readonly LLMMessage[]): Pairing {
  const answers = new Map<number, (Answer | null)[]>();
  const unused: Pairing["unused"] = [];
  const newest = new Map<string, Batch>();
  messages.forEach((message, at) => {
    if (message.role === "assistant") openCalls(message, at, answers, newest);
    if (message.role !== "tool" && message.role !== "user") return;
    message.contents.forEach((content, index) => {
      if (content.type !== "tool_result") return;
      const answer = { result: content, message, index };
      const reason = place(answer, answers, newest);
      if (reason) unused.push({ answer, reason });
    });
  });
  return { answers, unused };
}

function openCalls(
  message: Extract<LLMMessage, { role: "assistant" }>,
  at: number,
  answers: Map<number, (Answer | null)[]>,
  newest: Map<string, Batch>,
): void {
  const open: (Answer | null)[] = [];
  for (const content of message.contents) {
    if (content.type !== "tool_call") continue;
    const batch = newest.get(content.id);
    if (batch?.at === at) batch.slots.push(open.length);
    else newest.set(content.id, { at, slots: [open.length], failed: message.stopReason === "error" });
    open.push(null);
  }
  if (open.length > 0) answers.set(at, open);
}

/** Puts an answer where it belongs; otherwise says why it belongs nowhere. */
function place(
  answer: Answer,
  answers: Map<number, (Answer | null)[]>,
  newest: Map<string, Batch>,
): string | null {
  const batch = newest.get(answer.result.id);
  if (!batch) return "a tool result without its call";
  if (batch.failed) return "a result of an answer that failed";
  const calls = answers.get(batch.at);
  const slot = batch.slots.find((index) => calls?.[index] === null);
  if (!calls || slot === undefined) return "a second result for one tool call";
  calls[slot] = answer;
  return null;
}
