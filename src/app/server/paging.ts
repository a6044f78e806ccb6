import { z } from "zod";

const wholeNumber = (text: string): number => (/^\d{1,16}$/.test(text) ? Number(text) : Number.NaN);
const MAX = Number.MAX_SAFE_INTEGER;

/** A whole number in a query. */
export const queryInt = (min: number, max: number) =>
  z
    .string()
    .refine(
      (text) => wholeNumber(text) >= min && wholeNumber(text) <= max,
      `expected a whole number from ${min} to ${max}`,
    )
    .transform(wholeNumber);

export const limit = queryInt(1, 500).default(100);
export const seq = queryInt(0, MAX);

/** A list under the last word of its path, and where to go on. */
export function page<Item>(
  word: string,
  items: Item[],
  size: number,
  next: (last: Item) => unknown,
): Record<string, unknown> {
  const last = items.at(-1);
  return { [word]: items, next: last !== undefined && items.length === size ? next(last) : null };
}

/** The schema of such a list. */
export function listOf(word: string, item: z.ZodType): z.ZodType {
  return z.object({ [word]: z.array(item), next: z.union([z.string(), z.int()]).nullable() });
}
