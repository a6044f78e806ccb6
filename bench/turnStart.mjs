import { join } from "node:path";
import { createGateway } from "../dist/gateway/index.js";
import { model } from "../dist/provider/model.js";
import { openSqlite } from "../dist/store/sqlite.js";
import { figureOf } from "./measure.mjs";
import { temporaryFolder } from "./surroundings.mjs";

/** From "accepted" to the turn having durably started, with nothing else to do; and what one commit costs beside it. */

const TURNS = 300;
const WARM_UP = 50;
const CHATS = 50;

/** @param {(step: string) => void} progress @returns {Promise<import("./measure.mjs").Line[]>} */
export async function turnStart(progress) {
  const folder = temporaryFolder();
  const store = await openSqlite({ path: join(folder.path, "longhand.db") });
  const heard = listener();
  const gateway = createGateway({
    store,
    resolveModel: () => ({ ok: true, model: model({ api: "demo", id: "demo", delayMs: 0 }) }),
    defaultModel: "demo/demo",
    log: heard.log,
  });
  await gateway.start();
  try {
    for (let chat = 0; chat < CHATS; chat++)
      await gateway.registerChat({ jid: jidOf(chat), trigger: "always" });
    const waits = [];
    const commits = [];
    for (let turn = 0; turn < WARM_UP + TURNS; turn++) {
      if (turn % 50 === 0) progress(`turn ${turn} of ${WARM_UP + TURNS}`);
      const wait = await oneTurn(gateway, heard, turn);
      const commit = await oneCommit(store, turn);
      if (turn < WARM_UP) continue;
      waits.push(wait);
      commits.push(commit);
    }
    return [
      { what: "accepted → turn has started", unit: "ms", ...figureOf(waits), target: { atMost: 1 } },
      { what: "  of which one durable commit", unit: "ms", ...figureOf(commits), target: null },
    ];
  } finally {
    await gateway.stop();
    await store.close();
    folder.remove();
  }
}

const jidOf = (number) => `bench-${number}`;

async function oneTurn(gateway, heard, turn) {
  const started = heard.next("turn.started");
  const jid = jidOf(turn % CHATS);
  const result = await gateway.submitChat(jid, {
    content: `Question ${turn}: what did you just read?`,
    msg_metadata: { source: "http", sender_id: "http:ada", sender_display_name: "Ada", sender_type: "human" },
  });
  const accepted = performance.now();
  if (result.status !== "stored") throw new Error(`the message was answered ${JSON.stringify(result)}`);
  const wait = (await started) - accepted;
  await ended(gateway, jid, result.answer.message_id);
  return wait;
}

/** The turn ends before the next begins, so that nothing waits behind it. */
async function ended(gateway, jid, messageId) {
  for (;;) {
    const inbound = await gateway.read.inbound(jid, messageId);
    if (inbound.outcome === "answered") return;
    if (inbound.outcome !== "pending") throw new Error(`the turn ended ${inbound.outcome}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
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

/** When the gateway's log says a word. */
function listener() {
  let awaited = null;
  return {
    log: (_level, event) => {
      if (event !== awaited?.event) return;
      awaited.resolve(performance.now());
      awaited = null;
    },
    /** @param {string} event @returns {Promise<number>} */
    next: (event) =>
      new Promise((resolve) => {
        awaited = { event, resolve };
      }),
  };
}
