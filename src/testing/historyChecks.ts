import fc from "fast-check";
import type { LLMMessage } from "../message/index.js";
import type { EncodedBlock, Model, ModelRequest } from "../provider/codec.js";

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
