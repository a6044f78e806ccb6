import { join } from "node:path";
import { chatWithDefaults } from "../dist/message/index.js";
import { openSqlite } from "../dist/store/sqlite.js";
import { interleaved, median, ratioOf } from "./measure.mjs";
import { openRaw, record } from "./rawSqlite.mjs";
import { temporaryFolder } from "./surroundings.mjs";

/** Many callers at once, each committing one message after another, against the binding doing the same batches. */

const ROUNDS = 7;
const BATCHES = 16_000;
const CALLERS = 256;
const AT = "2026-11-15T12:00:00.000Z";
const JID = "bench";
const FIRST = { facts: [{ type: "chat", chat: chatWithDefaults({ jid: JID }, "Longhand", []), at: AT }] };

/** @param {(step: string) => void} progress @returns {Promise<import("./measure.mjs").Line[]>} */
export async function groupCommit(progress) {
  const folder = temporaryFolder();
  try {
    progress("writing down what the store asks of SQLite");
    const batches = Array.from({ length: BATCHES }, (_, index) => ingestBatch(index));
    const recorded = record(join(folder.path, "recorded.db"), FIRST, batches);
    /** @type {number[]} */
    const groups = [(await storeRound(join(folder.path, "warm-store.db"), batches)).group];
    await rawRound(join(folder.path, "warm-raw.db"), recorded, Math.round(groups[0]));
    const sides = {
      ours: async (round) => {
        const { perSecond, group } = await storeRound(join(folder.path, `store-${round}.db`), batches);
        groups.push(group);
        return perSecond;
      },
      // As many batches in a transaction as the store made of the same load.
      reference: (round) =>
        rawRound(join(folder.path, `raw-${round}.db`), recorded, Math.round(median(groups))),
    };
    const pairs = await interleaved(ROUNDS, sides, (done, of) => progress(`round ${done} of ${of}`));
    const size = Math.round(median(groups));
    const what = `group commit, ${CALLERS} callers (groups of ${size}) / raw SQLite`;
    return [{ what, unit: "msg/s", ...ratioOf(pairs), target: { atLeast: 0.75 } }];
  } finally {
    folder.remove();
  }
}

/** What one submitted message leaves behind. @param {number} index */
function ingestBatch(index) {
  const id = `01932f00-0000-7000-8000-${String(index).padStart(12, "0")}`;
  const metadata = {
    source: "slack",
    sender_id: `slack:U${index % 50}`,
    sender_display_name: `Person ${index % 50}`,
    sender_type: "human",
    channel_external_id: "C06RY3YBSLE",
    external_message_id: String(index),
  };
  const message = {
    id,
    chat_jid: JID,
    sender: metadata.sender_id,
    sender_name: metadata.sender_display_name,
    content: `Message ${index}: has anybody seen the figures of last week? I would like to have them before the meeting.`,
    timestamp: AT,
    is_from_me: false,
    message_type: "user",
    metadata,
    turn_id: null,
    call_id: null,
    part: null,
    dedupe_key: String(index).padStart(64, "0"),
    idempotency: null,
    untaken: true,
    thread_id: "",
  };
  const inbound = {
    chat_jid: JID,
    message_id: id,
    admission: "ambient",
    reason: "no trigger",
    outcome: "ambient",
    outcome_reason: "no trigger",
    turn_id: null,
  };
  return {
    facts: [
      { type: "message", message },
      { type: "inbound", inbound },
    ],
  };
}

/** @param {string} path @param {readonly { facts: any[] }[]} batches */
async function storeRound(path, batches) {
  const store = await openSqlite({ path });
  await store.commit(FIRST);
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
  const raw = openRaw(path, FIRST, recording);
  const before = performance.now();
  for (let from = 0; from < BATCHES; from += size) raw.commitGroup(from, from + size);
  const seconds = (performance.now() - before) / 1000;
  raw.close();
  return BATCHES / seconds;
}
