import { fileURLToPath } from "node:url";
import { createGateway } from "../dist/gateway/index.js";
import { model } from "../dist/provider/model.js";
import { openPostgres } from "../dist/store/postgres.js";
import { startPostgres } from "../dist/testing/postgresServer.js";
import { figureOf } from "./measure.mjs";
import { startNode } from "./surroundings.mjs";

/**
 * From "accepted" in one process to the turn having durably started in another, on a Postgres that waits for the disk.
 * The process that accepts has not been started, so it never takes a turn itself.
 */

const TURNS = 200;
const WARM_UP = 40;
const CHATS = 20;
const TAKER = fileURLToPath(new URL("./turnTaker.mjs", import.meta.url));

/** @param {(step: string) => void} progress @returns {Promise<import("./measure.mjs").Line[]>} */
export async function turnStartAcross(progress) {
  progress("starting Postgres");
  const postgres = await startPostgres({ durable: true });
  if (!postgres) return [];
  const url = await postgres.database();
  const store = await openPostgres({ url });
  const taker = startNode([TAKER], { env: { BENCH_DATABASE: url }, ipc: true });
  try {
    const heard = listener(taker.child);
    await heard.of("ready");
    const gateway = createGateway({
      store,
      resolveModel: () => ({ ok: true, model: model({ api: "demo", id: "demo", delayMs: 0 }) }),
      defaultModel: "demo/demo",
    });
    for (let chat = 0; chat < CHATS; chat++)
      await gateway.registerChat({ jid: `bench-${chat}`, trigger: "always" });
    const waits = [];
    const commits = [];
    for (let turn = 0; turn < WARM_UP + TURNS; turn++) {
      if (turn % 40 === 0) progress(`turn ${turn} of ${WARM_UP + TURNS}`);
      const wait = await oneTurn(gateway, heard, turn);
      const commit = await oneCommit(store, turn);
      if (turn < WARM_UP) continue;
      waits.push(wait);
      commits.push(commit);
    }
    const what = "accepted → turn has started in another process";
    return [
      { what, unit: "ms", ...figureOf(waits), target: { atMost: 10 } },
      { what: "  one durable commit on Postgres", unit: "ms", ...figureOf(commits), target: null },
    ];
  } finally {
    await taker.stop();
    await store.close();
    await postgres.stop();
  }
}

async function oneTurn(gateway, heard, turn) {
  const result = await gateway.submitChat(`bench-${turn % CHATS}`, {
    content: `Question ${turn}: what did you just read?`,
    msg_metadata: { source: "http", sender_id: "http:ada", sender_display_name: "Ada", sender_type: "human" },
  });
  // The one clock that processes of a machine share.
  const accepted = process.hrtime.bigint();
  if (result.status !== "stored") throw new Error(`the message was answered ${JSON.stringify(result)}`);
  const id = result.answer.message_id;
  const started = await heard.of("turn.started", id);
  // The turn ends before the next begins, so that nothing waits behind it.
  await heard.of("turn.ended", id);
  return Number(started - accepted) / 1e6;
}

/** As small as a commit can be that waits for the disk. */
async function oneCommit(store, turn) {
  const before = performance.now();
  const at = "2026-11-15T12:00:00.000Z";
  await store.commit({
    facts: [{ type: "knock", address: `bench:${turn}`, channel: "bench", name: "", at }],
  });
  return performance.now() - before;
}

/** What the other process says, whenever it said it. */
function listener(child) {
  const said = new Map();
  const awaited = new Map();
  child.on("message", ({ event, id = "", at = "0" }) => {
    const key = `${event} ${id}`;
    said.set(key, BigInt(at));
    awaited.get(key)?.(BigInt(at));
  });
  return {
    /** @param {string} event @param {string} id @returns {Promise<bigint>} */
    of(event, id = "") {
      const key = `${event} ${id}`;
      const known = said.get(key);
      return known === undefined
        ? new Promise((resolve) => awaited.set(key, resolve))
        : Promise.resolve(known);
    },
  };
}
