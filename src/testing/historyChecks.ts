import fc from "fast-check";
import type { LLMMessage } from "../message/index.js";
import type { EncodedBlock, EncodedRequest, Model, ModelRequest } from "../provider/codec.js";

/** Requests with everything a caller may ask besides a history, sensible or not. */
export function askedInAnyWay(request: fc.Arbitrary<ModelRequest>): fc.Arbitrary<ModelRequest> {
  return fc
    .tuple(
      request,
      fc.constantFrom(undefined, "off", "low", "high"),
      fc.constantFrom(undefined, 1, 1500, 4000, 1_000_000),
      fc.constantFrom(undefined, 0, 0.5, 2),
      fc.constantFrom(undefined, true, false),
    )
    .map(([given, thinking, maxTokens, temperature, cache]) => ({
      ...given,
      ...(thinking === undefined ? {} : { thinking }),
      ...(maxTokens === undefined ? {} : { maxTokens }),
      ...(temperature === undefined ? {} : { temperature }),
      ...(cache === undefined ? {} : { cache }),
    }));
}

/** Did the model itself make one of the answers? Then its signatures may go back. */
export function hasOwnAnswer({ messages }: ModelRequest, { provider, api, id }: Model): boolean {
  return messages.some(
    (one) => one.role === "assistant" && one.provider === provider && one.api === api && one.model === id,
  );
}

/** What people said and a request's texts do not, in the order it was said. */
export function lostWords({ messages }: ModelRequest, sent: readonly string[]): string[] {
  let rest = sent.join("\n\n");
  const said = messages
    .flatMap((one) => (one.role === "user" ? one.contents : []))
    .flatMap((content) =>
      content.type === "text" && content.content.trim() !== "" ? [content.content] : [],
    );
  return said.filter((one) => {
    const words = one.replace(/\p{Surrogate}/gu, "\ufffd");
    const at = rest.indexOf(words);
    if (at >= 0) rest = rest.slice(at + words.length);
    return at < 0;
  });
}

/** The requests of a chat that only grows, each with the beginning of the next; all but the last frame should be equal. */
export function growing(
  turns: readonly LLMMessage[][],
  blocksOf: (messages: LLMMessage[]) => EncodedBlock[],
): { before: EncodedBlock[]; after: EncodedBlock[] }[] {
  const requests = turns.map((_, at) => blocksOf(turns.slice(0, at + 1).flat()));
  return requests.slice(1).map((next, at) => {
    const before = requests[at]?.slice(0, -1) ?? [];
    return { before, after: next.slice(0, before.length) };
  });
}

/** Every way a message can be left out: a generator of histories that reaches less would prove less than it says. */
export const WAYS_LEFT_OUT: readonly string[] = [
  "a result of an answer that failed",
  "a second result for one tool call",
  "a tool result without its call",
  "nothing in it to send",
  "the answer failed",
  "thinking alone, which this API cannot take back",
];

const WHOLE_VALUES: readonly string[] = ["message", "summary", "thread_context"];

/** What is wrong with the blocks of a request: they are its body, none is empty, and what was said is a value of its own. */
export function blockProblems({ blocks, body }: EncodedRequest): string[] {
  const problems = blocks.map((block) => block.text).join("") === body ? [] : ["the blocks are not the body"];
  for (const { kind, text } of blocks) {
    if (/^$|\p{Surrogate}/u.test(text)) problems.push(`a block that is empty or no text: ${text}`);
    if (WHOLE_VALUES.includes(kind)) JSON.parse(text);
  }
  return problems;
}
