import { RE2JS } from "re2js";

/** Steps a pattern may be made of. */
const MOST_STEPS = 1000;
/** Steps one message may cost: of a very long one, only so much of its beginning is looked at as that allows. */
const STEPS_FOR_A_MESSAGE = 20_000_000;
const REMEMBERED = 200;

const compiled = new Map<string, RE2JS>();

/** Why this cannot be a trigger's pattern, in words; null when it can. */
export function patternProblem(pattern: string): string | null {
  try {
    const steps = compile(pattern).programSize();
    return steps > MOST_STEPS
      ? `the pattern unfolds into ${steps} steps; ${MOST_STEPS} are allowed, so use smaller repetitions`
      : null;
  } catch (error) {
    const why = error instanceof Error ? error.message.replace(/^error parsing regexp: /, "") : String(error);
    return `expected a pattern in RE2 syntax, which has no look-around and no back-references: ${why}`;
  }
}

/** Does the pattern match in the text? Time grows with the length of the text, whatever the pattern, and is bounded. */
export function matchesPattern(pattern: string, text: string): boolean {
  // A chat that was stored before its pattern was looked at must not stop the messages.
  if (patternProblem(pattern) !== null) return false;
  const made = compile(pattern);
  return made.test(text.slice(0, Math.floor(STEPS_FOR_A_MESSAGE / Math.max(made.programSize(), 1))));
}

function compile(pattern: string): RE2JS {
  const known = compiled.get(pattern);
  if (known) return known;
  if (compiled.size >= REMEMBERED) compiled.clear();
  const made = RE2JS.compile(pattern);
  compiled.set(pattern, made);
  return made;
}
