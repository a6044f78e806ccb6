import type { AssistantMessage, LLMMessage, ToolResultContent } from "../message/index.js";

/** A tool result, the message it came in, and which of that message's contents it was. */
export type Answer = { result: ToolResultContent; message: LLMMessage; index: number };

/** A call's answers, in call order; null where none came. */
export type Answers = readonly (Answer | null)[];

/** Which result answers which call, of messages that are taken one after the other. */
export type Pairing = {
  /** Takes the next message. Gives back the place of the earliest message it changed, which may be its own. */
  take(message: LLMMessage): number;
  /** The answers to the calls of the message at a place. */
  answersOf(at: number): Answers;
  /** The earliest message that those from a place on have changed. */
  changedSince(at: number): number;
  /** Results that answer nothing, with why. */
  unused: readonly { answer: Answer; reason: string }[];
};

type Batch = { at: number; open: (Answer | null)[]; slots: number[]; failed: boolean };

const NO_ANSWERS: Answers = [];

/**
 * Pairs every tool call with the first result for it that comes later. Where an id was used again, a result belongs
 * to the newest message that used it. Results inside user messages count like those in tool messages.
 */
export function pairing(): Pairing {
  const answers = new Map<number, (Answer | null)[]>();
  const unused: { answer: Answer; reason: string }[] = [];
  const newest = new Map<string, Batch>();
  const changed: number[] = [];

  function openCalls({ contents, stopReason }: AssistantMessage, at: number): void {
    const open: (Answer | null)[] = [];
    for (const content of contents) {
      if (content.type !== "tool_call") continue;
      const batch = newest.get(content.id);
      if (batch?.at === at) batch.slots.push(open.length);
      else newest.set(content.id, { at, open, slots: [open.length], failed: stopReason === "error" });
      open.push(null);
    }
    if (open.length > 0) answers.set(at, open);
  }

  /** Puts an answer where it belongs, and says where that is. */
  function place(answer: Answer, at: number): number {
    const batch = newest.get(answer.result.id);
    const slot = batch?.slots.find((index) => batch.open[index] === null);
    if (batch && !batch.failed && slot !== undefined) {
      batch.open[slot] = answer;
      return batch.at;
    }
    unused.push({ answer, reason: whyUnused(batch) });
    return at;
  }

  return {
    unused,
    answersOf: (at) => answers.get(at) ?? NO_ANSWERS,
    changedSince: (at) => changed.slice(at).reduce((least, one) => Math.min(least, one), at),
    take(message) {
      const at = changed.length;
      let least = at;
      if (message.role === "assistant") openCalls(message, at);
      else if (message.role !== "system") {
        for (let index = 0; index < message.contents.length; index++) {
          const content = message.contents[index];
          if (content?.type === "tool_result")
            least = Math.min(least, place({ result: content, message, index }, at));
        }
      }
      changed.push(least);
      return least;
    },
  };
}

function whyUnused(batch: Batch | undefined): string {
  if (!batch) return "a tool result without its call";
  return batch.failed ? "a result of an answer that failed" : "a second result for one tool call";
}
