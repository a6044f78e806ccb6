import { v7 } from "uuid";

const MAX_MSECS = 2 ** 48 - 1;
const last = { msecs: -1, sequence: 0 };

/**
 * A new id: unique, and sortable by the time it was made, also within one millisecond of this process.
 * Code below the gateway is handed its ids; factories fall back to this for library users.
 */
export function newId(now: number = Date.now()): string {
  const msecs = Math.min(Math.max(Math.floor(now) || 0, 0), MAX_MSECS);
  // A clock that steps back starts a new random sequence: order is lost then, as it must be, uniqueness is not.
  last.sequence = msecs === last.msecs ? last.sequence + 1 : randomSequence();
  last.msecs = msecs;
  return v7({ msecs, seq: last.sequence, random: randomBytes() });
}

const POOL = new Uint8Array(4096);
let used = POOL.length;

/** Sixteen random bytes out of a pool: asking the system for each id alone cost more than everything else about it. */
function randomBytes(): Uint8Array {
  if (used + 16 > POOL.length) {
    crypto.getRandomValues(POOL);
    used = 0;
  }
  used += 16;
  return POOL.slice(used - 16, used);
}

/** 31 of the sequence's 32 bits, so that two thousand million ids fit above any start before it would wrap. */
function randomSequence(): number {
  const [a = 0, b = 0, c = 0, d = 0] = randomBytes();
  return ((a << 24) | (b << 16) | (c << 8) | d) >>> 1;
}
