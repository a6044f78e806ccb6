import type { BlockKind, LeftOut, LLMMessage, Origin, Source } from "../message/index.js";
import type { Answer } from "./pairing.js";

export type Origins = ReadonlyMap<string, Origin>;

/** What a message came from: what the request says, or itself. */
export function originOf(message: LLMMessage, origins: Origins): Origin {
  return origins.get(message.id) ?? { kind: "message", sources: [{ type: "message", id: message.id }] };
}

/** What one result came from: a batch that was stored as one row per result has one source per result. */
export function resultOrigin({ message, index }: Answer, origins: Origins): Origin {
  const origin = originOf(message, origins);
  const own = origin.sources[index];
  const onePerResult = message.role === "tool" && origin.sources.length === message.contents.length;
  return onePerResult && own ? { kind: origin.kind, sources: [own] } : origin;
}

/** Do two origins say the same? */
export function sameOrigin(a: Origin | undefined, b: Origin | undefined): boolean {
  if (a === b) return true;
  if (!a || !b || a.kind !== b.kind || a.sources.length !== b.sources.length) return false;
  return a.sources.every(({ type, id }, at) => type === b.sources[at]?.type && id === b.sources[at]?.id);
}

/** The sources of several origins, each once. */
export function mergeOrigins(kind: BlockKind, origins: readonly Origin[]): Origin {
  const sources = new Map<string, Source>();
  for (const source of origins.flatMap((origin) => origin.sources)) {
    sources.set(JSON.stringify([source.type, source.id]), source);
  }
  return { kind, sources: [...sources.values()] };
}

/** The messages behind an origin, as left out for a reason. */
export function leaveOut(origin: Origin, reason: string): LeftOut[] {
  return origin.sources
    .filter((source) => source.type === "message")
    .map((source) => ({ message_id: source.id, reason }));
}
