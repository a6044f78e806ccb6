import { duePieces } from "./lane.js";
import { changesSettings, kindsIn, newsroom } from "./news.js";
import { twiceInBatch } from "./once.js";
import { openPool, placeOf, queryOn, type Row } from "./postgres/connect.js";
import { indexAll } from "./postgres/indexer.js";
import { listen } from "./postgres/listen.js";
import { migrate } from "./postgres/migrate.js";
import { pack } from "./postgres/pack.js";
import { readsOn } from "./postgres/reads/index.js";
import { scrub } from "./postgres/scrub.js";
import { dueBy } from "./postgres/skew.js";
import { parsedJson, storedJson } from "./postgres/text.js";
import { report } from "./report.js";
import { type OpResult, openWriter, type QueueLimits } from "./postgres/writer.js";
import {
  type Batch,
  type Claim,
  type CommitResult,
  type Expectation,
  type Fact,
  type Lease,
  type Settlement,
  type Store,
  type StoreReads,
  StoreUnavailable,
  WORK_KINDS,
} from "./store.js";
import { text } from "./rows/columns.js";

export { WrongUrl } from "./postgres/connect.js";
export { WrongDatabase } from "./postgres/migrate.js";

export type PostgresOptions = {
  /** `postgres://user:password@host/database`, with `?schema=name` where the database is shared with others. */
  url: string;
  /** Connections for reading; three more are for writing, claiming and listening. */
  connections?: number;
  /**
   * The clock by which callers state times. Leases and due times go by the database's clock, and times stated by a clock
   * that is off are put right. Null: callers' times are taken as they are, which only one process at a time may do.
   */
  clock?: (() => number) | null;
  /** How long a write waits for somebody else's lock before it is refused. */
  lockMs?: number;
  /** How often listeners are told to look again, in case a notification was lost. */
  lookMs?: number;
  /** What may wait for the database at most. */
  queue?: Partial<QueueLimits>;
};

const LIMITS: QueueLimits = { operations: 20_000, bytes: 128 * 1024 * 1024 };
const CONNECTIONS = 6;
const LOOK_MS = 1_000;
/** What changes which words are where. */
const REINDEXED: ReadonlySet<Fact["type"]> = new Set(["message", "revision", "senders_erased"]);
/** How long after a write its words are indexed. */
const INDEX_MS = 500;

/**
 * Open a store in a Postgres database, made or brought up to date as needed. Any number of processes may share it.
 *
 * @example
 * const store = await openPostgres({ url: "postgres://longhand:secret@localhost/longhand" });
 * await store.close();
 */
export async function openPostgres(options: PostgresOptions): Promise<Store> {
  const place = placeOf(options.url, options.lockMs);
  const clock = options.clock === undefined ? Date.now : options.clock;
  const channel = `longhand_${place.schema ?? "public"}`;
  await migrate(place);
  const [readPool, writePool] = await Promise.all([
    openPool(place, options.connections ?? CONNECTIONS),
    openPool(place, 2),
  ]);
  const own = new Set<number>();
  writePool.on("connect", (client) => own.add(processIdOf(client)));
  writePool.on("remove", (client) => own.delete(processIdOf(client)));

  const { subscribe, tell } = newsroom();
  const listening = await listen(place, channel, options.lookMs ?? LOOK_MS, (id) => own.has(id), tell);
  const writer = openWriter(writePool, channel, clock, { ...LIMITS, ...options.queue });
  const query = queryOn(readPool);
  const claims = queryOn(writePool);
  const read = readsOn(query, clock);
  let closing: Promise<void> | null = null;
  let indexing: NodeJS.Timeout | undefined;
  let scrubbing: Promise<void> = scrub(place).catch(report);

  const orClosed = (): void => {
    if (closing) throw new StoreUnavailable("the store is closed");
  };
  const indexLater = (): void => {
    indexing ??= setTimeout(() => {
      void indexAll(query, () => closing !== null)
        // Words that are not indexed are found all the same, only slower: no reason to end anything.
        .catch(report)
        .finally(() => {
          indexing = undefined;
        });
    }, INDEX_MS).unref();
  };

  const write = async (
    batch: Batch,
    move: Omit<Settlement, "facts" | "expect"> | null,
  ): Promise<CommitResult> => {
    const { facts, expect = [] } = batch;
    const settings = changesSettings(facts);
    const op = pack(facts, expect, move, settings);
    const result = await writer.run(op);
    if (result.status !== "committed") return refused(read, expect, result);
    const work = result.freed ? [...WORK_KINDS] : kindsIn(facts);
    tell({ work, events: op.logged, settings });
    if (facts.some(({ type }) => REINDEXED.has(type))) indexLater();
    if (facts.some(({ type }) => type === "senders_erased")) scrubbing = scrub(place).catch(report);
    return {
      status: "committed",
      seqs: Object.fromEntries(op.messageIds.map((id, index) => [id, result.seqs[index] ?? 0])),
    };
  };

  indexLater();
  return {
    commit: async (batch) => write(batch, null),
    settle: async ({ facts, expect, ...move }) => write(expect ? { facts, expect } : { facts }, move),
    async claim({ kind, holder, now, leaseMs, limit }) {
      orClosed();
      const rows = await claims(
        "SELECT longhand_claim($1, $2, $3, $4, $5, $6) AS claim",
        kind,
        holder,
        Math.floor(now),
        clock === null,
        leaseMs,
        limit,
      );
      return rows.map(claimOf);
    },
    async renew(leases, now, leaseMs) {
      orClosed();
      if (leases.length === 0) return [];
      const wanted = leases.map(({ lane, fence }): Lease => ({ lane, fence }));
      const rows = await claims(
        "SELECT lane, fence FROM jsonb_to_recordset(longhand_renew($1::jsonb, $2, $3)) AS kept(lane text, fence bigint)",
        storedJson(wanted),
        clock ? null : Math.floor(now),
        leaseMs,
      );
      return wanted.filter(
        ({ lane, fence }) => !rows.some((row) => row.lane === lane && row.fence === fence),
      );
    },
    async release(holder, now) {
      orClosed();
      await claims("SELECT longhand_release($1, $2, $3)", holder, clock ? null : Math.floor(now), channel);
      tell({ work: [...WORK_KINDS], events: false, settings: false });
    },
    subscribe,
    read,
    close() {
      closing ??= (async () => {
        clearTimeout(indexing);
        await writer.close();
        await scrubbing;
        await Promise.all([listening.stop(), readPool.end(), writePool.end()]);
      })();
      return closing;
    },
  };
}

/**
 * A claim as the server tells it: with all the lane's first pieces, and its time, by which to tell which are due. Who
 * claims has another clock, and is told when they were due by that one.
 */
function claimOf(row: Row): Claim {
  const { now, skew, work, ...claim }: Claim & { now: number; skew: number } = parsedJson(text(row.claim));
  const due = duePieces(claim.kind, work, now);
  return { ...claim, work: due.map((piece) => dueBy(piece, skew)) };
}

type Refusal = Exclude<OpResult, { status: "committed" }>;

/** The server names what is already there and what no longer holds; what that is, we know or can read. */
async function refused(
  read: StoreReads,
  expect: readonly Expectation[],
  refusal: Refusal,
): Promise<CommitResult> {
  switch (refusal.status) {
    case "fenced":
      return refusal;
    case "conflict": {
      const { expectation, why } = refusal;
      return {
        status: "conflict",
        expectation: expectation === null ? null : (expect[expectation] ?? null),
        why,
      };
    }
    case "duplicate": {
      const { chat_jid, message_id } = refusal;
      const message = await read.message(chat_jid, message_id);
      if (!message) return twiceInBatch(message_id);
      return { status: "duplicate", message, inbound: await read.inbound(chat_jid, message_id) };
    }
    case "failed":
      throw new Error(`the database refused a batch: ${refusal.why}`);
  }
}

/** The server's name for a connection, which it gives with every notification. */
function processIdOf(client: object): number {
  return "processID" in client && typeof client.processID === "number" ? client.processID : 0;
}
