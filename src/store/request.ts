/**
 * How long a chain of "as that receipt up to n, then these" may get before a list is written out in full again. A list
 * is about four times as long as its chain, so following one costs little beside reading it; written out often, the
 * lists of a long chat would take more room than all that was said in it.
 */
export const MAX_DEPTH = 512;

export type Link = { base: string | null; base_count: number; depth: number };

/**
 * The shortest way to say where a list begins: when it takes no more of its base than that one took of its own, the
 * base's base will do. A chat that is cut back again and again so stays at a short chain.
 */
export function shortest(
  wanted: { call_id: string; count: number } | null,
  linkOf: (call_id: string) => Link | null,
): { base: string | null; count: number; depth: number } {
  if (!wanted || wanted.count === 0) return { base: null, count: 0, depth: 0 };
  let base = wanted.call_id;
  let link = linkOf(base);
  while (link?.base && wanted.count <= link.base_count) {
    base = link.base;
    link = linkOf(base);
  }
  return { base, count: wanted.count, depth: (link?.depth ?? 0) + 1 };
}
