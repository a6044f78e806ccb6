import type { Pool } from "pg";
import { StoreUnavailable } from "../store.js";
import { isUnlucky, orUnavailable } from "./connect.js";
import { type Locks, noLocks, type Op } from "./pack.js";
import { storedJson } from "./text.js";

/** What the server says about one batch. Names of a duplicate only: what it is can be read. */
export type OpResult =
  | { status: "committed"; seqs: number[]; freed: boolean }
  | { status: "duplicate"; chat_jid: string; message_id: string }
  | { status: "fenced"; lane: string }
  | { status: "conflict"; expectation: number | null; why: string }
  /** A bug. Its batch was undone; its neighbours were not touched. */
  | { status: "failed"; why: string };

/** What may wait at most for the server. Beyond it new writes are refused instead of eating the memory. */
export type QueueLimits = { operations: number; bytes: number };

export type Writer = {
  run(op: Op): Promise<OpResult>;
  /** Refuse what comes from now on, and wait for what came before. */
  close(): Promise<void>;
};

type Waiting = { op: Op; resolve(result: OpResult): void; reject(error: unknown): void };

/** Batches in one transaction: each is a savepoint, and Postgres keeps track of 64 without effort. */
const GROUP = 60;
const GROUP_BYTES = 16 * 1024 * 1024;
/** How often an unlucky group is tried again. */
const TRIES = 5;

const SQL = "SELECT longhand_write($1::jsonb, $2::jsonb, $3::bytea, $4::bigint, $5) AS results";

/**
 * Writes in groups: while one is on its way, what comes in makes up the next. So the load decides how much shares a
 * commit, one at a time waits for nobody, and writes of one process happen in the order in which they were asked for.
 */
export function openWriter(
  pool: Pool,
  channel: string,
  clock: (() => number) | null,
  limits: QueueLimits,
): Writer {
  const waiting: Waiting[] = [];
  let size = 0;
  let closed = false;
  let working: Promise<void> | null = null;

  const work = async (): Promise<void> => {
    while (waiting.length > 0) {
      const group = nextGroup(waiting);
      try {
        const results = await write(group);
        group.forEach(({ resolve, reject }, index) => {
          const result = results[index];
          if (result) resolve(result);
          else reject(new Error("the server gave no result"));
        });
      } catch (error) {
        for (const { reject } of group) reject(orUnavailable(error));
      } finally {
        for (const { op } of group) size -= op.size;
      }
    }
    working = null;
  };

  const write = async (group: readonly Waiting[]): Promise<OpResult[]> => {
    const { ops, locks, bytes } = joined(group.map(({ op }) => op));
    for (let tried = 1; ; tried++) {
      try {
        const values = [ops, locks, bytes, clock ? Math.floor(clock()) : null, channel];
        const { rows } = await pool.query<{ results: OpResult[] }>({
          name: "longhand_write",
          text: SQL,
          values,
        });
        return rows[0]?.results ?? [];
      } catch (error) {
        if (!isUnlucky(error) || tried === TRIES) throw error;
      }
    }
  };

  return {
    run(op) {
      if (closed) return Promise.reject(new StoreUnavailable("the store is closed"));
      if (waiting.length >= limits.operations || size + op.size > limits.bytes) {
        return Promise.reject(new StoreUnavailable("too much waits for the database already"));
      }
      size += op.size;
      return new Promise((resolve, reject) => {
        waiting.push({ op, resolve, reject });
        working ??= Promise.resolve().then(work);
      });
    },
    async close() {
      closed = true;
      await working;
    },
  };
}

function nextGroup(waiting: Waiting[]): Waiting[] {
  let bytes = 0;
  let count = 0;
  for (const { op } of waiting.slice(0, GROUP)) {
    bytes += op.size;
    if (count > 0 && bytes > GROUP_BYTES) break;
    count++;
  }
  return waiting.splice(0, count);
}

/** Batches as one call: their locks together, their bytes one after the other. */
function joined(ops: readonly Op[]): { ops: string; locks: string; bytes: Buffer | null } {
  const locks = noLocks();
  const pieces: Uint8Array[] = [];
  let at = 0;
  const texts = ops.map(({ json, bytes, locks: own }) => {
    addLocks(locks, own);
    const start = at;
    for (const piece of bytes) {
      pieces.push(piece);
      at += piece.byteLength;
    }
    return JSON.stringify(start === 0 || bytes.length === 0 ? json : moved(json, start));
  });
  return {
    ops: `[${texts.join(",")}]`,
    locks: lockText(locks),
    bytes: pieces.length === 0 ? null : Buffer.concat(pieces),
  };
}

/** What a batch points at, counted from the group's start instead of its own. */
function moved(json: Record<string, unknown>, by: number): Record<string, unknown> {
  const text = JSON.stringify(json);
  return JSON.parse(text, (_, value) =>
    isObject(value) && typeof value.at === "number" && typeof value.length === "number"
      ? { ...value, at: value.at + by }
      : value,
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function addLocks(to: Locks, from: Locks): void {
  to.settings ||= from.settings;
  for (const jid of from.chats) to.chats.add(jid);
  for (const [lane, made] of from.lanes) if (made || !to.lanes.has(lane)) to.lanes.set(lane, made);
  for (const account of from.accounts) to.accounts.add(account);
}

function lockText({ settings, chats, lanes, accounts }: Locks): string {
  return storedJson({
    settings,
    chats: [...chats],
    lanes: [...lanes].map(([lane, made]) => ({ lane, ...made })),
    accounts: [...accounts],
  });
}
