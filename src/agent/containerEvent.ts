import { clip, type ErrorKind } from "../message/index.js";
import { isRecord, parseJson } from "../provider/json.js";
import { ContainerEvent } from "./containerProtocol.js";
import type { Exit } from "./isolationProcess.js";

export type EventOf<T extends ContainerEvent["type"]> = Extract<ContainerEvent, { type: T }>;

/** What went wrong with a container: a kind for programs, words for people. */
export type Failure = { kind: ErrorKind; text: string };

const KNOWN: readonly string[] = ContainerEvent.options.map((option) => option.shape.type.value);

/**
 * One line of a container's output. Null: a kind of event we do not know, maybe of a later version; a text: no event,
 * told in words out of which `safe` took what nobody should read, before they were clipped.
 */
export function readEvent(
  line: string,
  safe: (text: string) => string = (text) => text,
): ContainerEvent | string | null {
  const value = parseJson(line);
  if (!isRecord(value) || typeof value.type !== "string") return `“${clip(safe(line), 200)}”`;
  if (!KNOWN.includes(value.type)) return null;
  const parsed = ContainerEvent.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  return `${value.type}: ${issue?.path.join(".") ?? ""} ${issue?.message ?? "is wrong"}`;
}

/** Why there will be no result. */
export function howItEnded({ code, signal, problem }: Exit): Failure {
  if (problem !== null) return { kind: "unknown", text: `it could not be started: ${problem}` };
  if (signal !== null) return { kind: "cut", text: `it was killed by ${signal} before it gave a result` };
  if (code === 0) return { kind: "cut", text: "it ended without a result" };
  return { kind: "cut", text: `it ended with exit code ${code} before it gave a result` };
}

const SECRET_NAME = /key|token|secret|password|credential/i;
/** Shorter values are words that stand in every other line; what is called a secret is one all the same. */
const SHORTEST = 8;
const SHORTEST_SECRET = 4;

/**
 * Programs print their environment when they fail; a key among it is for nobody's eyes. Its name does not tell: a
 * password may stand in a DATABASE_URL. So every value goes, the longest first, because one may be part of another.
 */
export function withoutSecrets(text: string, env: Readonly<Record<string, string>>): string {
  const cut = Object.entries(env).flatMap(([name, value]) => {
    const shortest = SECRET_NAME.test(name) ? SHORTEST_SECRET : SHORTEST;
    if (value.length < shortest) return [];
    const quoted = JSON.stringify(value).slice(1, -1);
    return (quoted === value ? [value] : [value, quoted]).map((secret) => ({ name, secret }));
  });
  let safe = text;
  for (const { name, secret } of cut.sort((a, b) => b.secret.length - a.secret.length))
    safe = safe.replaceAll(secret, `[${name}]`);
  return safe;
}
