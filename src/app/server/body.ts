import { isUtf8 } from "node:buffer";
import type { FastifyInstance } from "fastify";
import { invalid } from "./problem.js";

const KIB = 1024;

/** Bytes a body may have: a login code; settings; one text with every character escaped; a message with attachments. */
export const BODY_LIMITS = {
  code: 4 * KIB,
  settings: 2 * KIB * KIB,
  text: 7 * KIB * KIB,
  message: 32 * KIB * KIB,
} as const;
export type BodySize = keyof typeof BODY_LIMITS;

const MAX_DEPTH = 100;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Bytes that are no UTF-8 would be changed by reading them: they are refused instead. */
export function readJson(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser("error", "error");
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, (request, body, done) => {
    const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body);
    if (bytes.length === 0) return done(null, undefined);
    if (!isUtf8(bytes)) return done(invalid([{ path: "", reason: "the body is not valid UTF-8" }]));
    if (isDeeperThan(bytes, MAX_DEPTH))
      return done(invalid([{ path: "", reason: `the body is nested deeper than ${MAX_DEPTH} levels` }]));
    parse(request, bytes.toString("utf8"), done);
  });
}

/** Looks at each byte once: the parser would build millions of levels before anybody could refuse them. */
function isDeeperThan(bytes: Buffer, most: number): boolean {
  let depth = 0;
  for (let at = 0; at < bytes.length; at++) {
    switch (bytes[at]) {
      case QUOTE:
        at = endOfString(bytes, at);
        break;
      case 0x5b:
      case 0x7b:
        if (++depth > most) return true;
        break;
      case 0x5d:
      case 0x7d:
        depth--;
        break;
    }
  }
  return false;
}

/** Where the string that starts here ends; the end of all bytes when it does not. */
function endOfString(bytes: Buffer, start: number): number {
  let at = start + 1;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}
