import { join } from "node:path";
import { openSqlite } from "../dist/store/sqlite.js";
import { BATCHES, CHAT_BATCH, ingestBatches } from "./batches.mjs";
import { interleaved, median, ratioOf } from "./measure.mjs";
import { openRaw, record } from "./rawSqlite.mjs";
import { temporaryFolder } from "./surroundings.mjs";

/** Many callers at once, each committing one message after another, against the binding doing the same batches. */

const ROUNDS = 7;
const CALLERS = 256;

/** @param {(step: string) => void} progress @returns {Promise<import("./measure.mjs").Line[]>} */
export async function groupCommit(progress) {
  const folder = temporaryFolder();
  try {
    progress("writing down what the store asks of SQLite");
    const recording = await record(folder.path);
    const batches = ingestBatches();
    /** @type {number[]} */
    const groups = [];
    const sides = {
      ours: async (round) => {
        const { perSecond, group } = await storeRound(join(folder.path, `store-${round}.db`), batches);
        groups.push(group);
        return perSecond;
      },
      // As many batches in a transaction as the store made of the same load.
      reference: (round) =>
        rawRound(join(folder.path, `raw-${round}.db`), recording, Math.round(median(groups))),
    };
    for (const side of [sides.ours, sides.reference]) await side("warm");
    const pairs = await interleaved(ROUNDS, sides, (done, of) => progress(`round ${done} of ${of}`));
    const size = Math.round(median(groups));
    const what = `group commit, ${CALLERS} callers (groups of ${size}) / raw SQLite`;
    return [{ what, unit: "msg/s", ...ratioOf(pairs), target: { atLeast: 0.75 } }];
  } finally {
    folder.remove();
  }
}

/** @param {string} path @param {readonly { facts: any[] }[]} batches */
async function storeRound(path, batches) {
  const store = await openSqlite({ path });
  await store.commit(CHAT_BATCH);
  let next = 0;
  let groups = 0;
  let counted = false;
  // Batches of one group are answered together, so a moment with answers is a group.
  const countGroup = () => {
    if (counted) return;
    counted = true;
    groups += 1;
    setImmediate(() => {
      counted = false;
    });
  };
  const caller = async () => {
    while (next < batches.length) {
      const { status } = await store.commit(batches[next++]);
      if (status !== "committed") throw new Error(`a batch was answered ${status}`);
      countGroup();
    }
  };
  const before = performance.now();
  await Promise.all(Array.from({ length: CALLERS }, caller));
  const seconds = (performance.now() - before) / 1000;
  await store.close();
  return { perSecond: batches.length / seconds, group: batches.length / groups };
}

/** @param {string} path @param {import("./rawSqlite.mjs").Recording} recording @param {number} size */
async function rawRound(path, recording, size) {
  const raw = await openRaw(path, recording);
  const before = performance.now();
  for (let from = 0; from < BATCHES; from += size) raw.commitGroup(from, from + size);
  const seconds = (performance.now() - before) / 1000;
  raw.close();
  return BATCHES / seconds;
}
