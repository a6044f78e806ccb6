import { changesSettings, kindsIn, newsroom } from "./news.js";
import { twiceInBatch } from "./once.js";
import { connectReader } from "./sqlite/connect.js";
import { type Packed, pack } from "./sqlite/pack.js";
import { openQueue, type QueueLimits } from "./sqlite/queue.js";
import { readsOn } from "./sqlite/reads/index.js";
import type { OpResult, Refusal } from "./sqlite/wire.js";
import {
  type CommitResult,
  type Fact,
  type Store,
  type StoreReads,
  StoreUnavailable,
  WORK_KINDS,
  type WorkKind,
} from "./store.js";

export { WrongDatabase } from "./sqlite/migrate.js";

export type SqliteOptions = {
  /** The database file; made if it is not there. */
  path: string;
  /** How long a write waits for somebody else's lock before it is refused. */
  busyMs?: number;
  /** The database grows no further than this; what does not fit is refused until there is room again. */
  maxBytes?: number;
  /** What may wait for the disk at most. */
  queue?: Partial<QueueLimits>;
};

const BUSY_MS = 2_000;
const LIMITS: QueueLimits = { operations: 20_000, bytes: 128 * 1024 * 1024 };

/**
 * Open a store in one SQLite file, made or brought up to date as needed.
 * Writing happens in a thread of its own, in groups; reading on a second connection that never waits for it.
 *
 * @example
 * const store = await openSqlite({ path: "data/longhand.db" });
 * await store.close();
 */
export async function openSqlite(options: SqliteOptions): Promise<Store> {
  const { subscribe, tell } = newsroom();
  const foreign = () => tell({ work: [...WORK_KINDS], events: true, settings: true });
  const limits = { ...LIMITS, ...options.queue };
  const { path, busyMs = BUSY_MS, maxBytes = null } = options;
  const queue = await openQueue({ path, busyMs, maxBytes }, limits, foreign);
  const reader = connectReader(path);
  const read = readsOn(reader.prepare);
  let closing: Promise<void> | null = null;
  let asked = 0;

  const write = async (
    packed: Packed,
    facts: readonly Fact[],
    run: () => Promise<OpResult>,
    freed: WorkKind[],
  ) => {
    const order = ++asked;
    const result = orThrow(await run());
    if (typeof result === "number") {
      tell({ work: kindsIn(facts), events: packed.logged, settings: changesSettings(facts), order });
      return committed(packed.messageIds, [result]);
    }
    if (result[0] === "refused") return refused(read, result[1]);
    if (result[0] !== "committed") throw unexpected(result);
    const kinds = kindsIn(facts);
    tell({
      work: result[2] ? [...new Set([...kinds, ...freed])] : kinds,
      events: packed.logged,
      settings: changesSettings(facts),
      order,
    });
    return committed(packed.messageIds, result[1]);
  };

  return {
    commit({ facts, expect }) {
      const packed = pack(facts);
      return write(packed, facts, () => queue.run(["commit", packed.facts, expect ?? []], packed.bytes), []);
    },
    settle({ facts, ...move }) {
      const packed = pack(facts);
      return write(packed, facts, () => queue.run(["settle", packed.facts, move], packed.bytes), [
        ...WORK_KINDS,
      ]);
    },
    async claim(request) {
      asked++;
      const result = orThrow(await queue.run(["claim", request], 0));
      if (typeof result === "number" || result[0] !== "claimed") throw unexpected(result);
      return result[1];
    },
    async renew(leases, now, leaseMs) {
      const plain = leases.map(({ lane, fence }) => ({ lane, fence }));
      const result = orThrow(await queue.run(["renew", plain, now + leaseMs], 0));
      if (typeof result === "number" || result[0] !== "renewed") throw unexpected(result);
      return result[1];
    },
    async release(holder, now) {
      orThrow(await queue.run(["release", holder, now], 0));
      tell({ work: [...WORK_KINDS], events: false, settings: false });
    },
    subscribe,
    read,
    inOrder: () => asked,
    close() {
      closing ??= queue.close().then(() => reader.close());
      return closing;
    },
  };
}

type Good = Exclude<OpResult, ["unavailable" | "failed", string]>;

function orThrow(result: OpResult): Good {
  if (typeof result === "number") return result;
  if (result[0] === "unavailable") throw new StoreUnavailable(result[1]);
  if (result[0] === "failed") throw new Error(result[1]);
  return result;
}

/** The writer names a duplicate; what it is can be read, because its commit came first. */
async function refused(read: StoreReads, refusal: Refusal): Promise<CommitResult> {
  if (refusal.status !== "duplicate") return refusal;
  const { chat_jid, message_id } = refusal;
  const message = await read.message(chat_jid, message_id);
  if (!message) return twiceInBatch(message_id);
  return { status: "duplicate", message, inbound: await read.inbound(chat_jid, message_id) };
}

function committed(ids: readonly string[], seqs: readonly number[]): CommitResult {
  return { status: "committed", seqs: Object.fromEntries(ids.map((id, index) => [id, seqs[index] ?? 0])) };
}

function unexpected(result: OpResult): Error {
  return new Error(`the writer answered ${JSON.stringify(result)}`);
}
