import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { webhook } from "../dist/channel/webhook.js";
import { createGateway } from "../dist/gateway/index.js";
import { model } from "../dist/provider/model.js";
import { openSqlite } from "../dist/store/sqlite.js";
import { quantile, ratioOf } from "./measure.mjs";
import { announcedPort, startNode, temporaryFolder } from "./surroundings.mjs";

/**
 * Quiet chats that are answered at once, with and without another chat's trouble beside them: p99 from "accepted" to
 * "answered". Each round measures calm and every trouble, in another order each time.
 */

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 7);
const SECONDS = 3;
const QUIET = 16;
const EVERY_MS = 250;
const TROUBLED = 64;
const MODELS = fileURLToPath(new URL("./models.mjs", import.meta.url));
const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/** @param {(step: string) => void} progress @returns {Promise<import("./measure.mjs").Line[]>} */
export async function neighbours(progress) {
  const folder = temporaryFolder();
  const models = startNode([MODELS]);
  const port = await announcedPort(models);
  const store = await openSqlite({ path: join(folder.path, "longhand.db") });
  const town = await openTown(store, port);
  try {
    const p99s = Object.fromEntries(Object.keys(SCENES).map((name) => [name, []]));
    await measured(town, "calm");
    for (let round = 0; round < ROUNDS; round++) {
      progress(`round ${round + 1} of ${ROUNDS}`);
      for (const name of rotated(Object.keys(SCENES), round)) p99s[name].push(await measured(town, name));
    }
    return Object.keys(SCENES)
      .filter((name) => name !== "calm")
      .map((name) => ({
        what: `others' p99 while ${name}`,
        unit: "ms",
        ...ratioOf(p99s[name].map((ours, round) => ({ ours, reference: p99s.calm[round] }))),
        target: { atMost: 1.2 },
      }));
  } finally {
    await town.gateway.stop(0);
    await store.close();
    await models.stop();
    folder.remove();
  }
}

/** What goes on beside the quiet chats. Each resolves, once it is in full swing, with what ends it. */
const SCENES = {
  calm: async () => async () => {},
  "one chat floods": async (town) => {
    const jid = await town.add("flood", { model: "bench/slow" });
    const timer = setInterval(() => void town.say(jid, "And another thing!"), 10);
    await pause(300);
    return async () => {
      clearInterval(timer);
      // What still waits there is of no interest.
      await town.gateway.changeChat(jid, { expire_after_s: 1 });
      await town.idle(jid);
    };
  },
  "64 tools hang": (town) => troubled(town, "digger"),
  "a model hangs": (town) => troubled(town, "hanging"),
  "a model fails": async (town) => {
    let stopped = false;
    const chats = await town.addMany("failing", TROUBLED, { model: "bench/failing" });
    const ends = chats.map(async (jid, number) => {
      await pause(number * 60);
      while (!stopped) {
        await town.ended(await town.say(jid, "Are you there?"));
        await pause(500);
      }
    });
    await pause(TROUBLED * 60);
    return async () => {
      stopped = true;
      for (const jid of chats) await town.gateway.stopTurn(jid);
      await Promise.all(ends);
    };
  },
  "a webhook hangs": async (town) => {
    const jid = await town.add("webhook", {}, "dead");
    const timer = setInterval(() => void town.say(jid, "Tell everybody."), 300);
    await pause(300);
    return async () => {
      clearInterval(timer);
      await town.idle(jid);
    };
  },
};

/** Chats that all ask at about the same time, and wait until they are stopped. */
async function troubled(town, kind) {
  const chats = await town.addMany(kind, TROUBLED, { model: `bench/${kind}` });
  const ids = [];
  for (const jid of chats) ids.push(await town.say(jid, "Go on."));
  await pause(1000);
  return async () => {
    for (const jid of chats) await town.gateway.stopTurn(jid);
    await Promise.all(ids.map((id) => town.ended(id)));
  };
}

/** The p99 of the quiet chats, while something goes on or nothing. */
async function measured(town, name) {
  // New ones each time: the longer a conversation, the more there is to read for an answer.
  const quiet = await town.addMany("quiet", QUIET, {}, "fine");
  const end = await SCENES[name](town);
  const waits = [];
  const until = performance.now() + SECONDS * 1000;
  await Promise.all(
    quiet.map(async (jid, number) => {
      await pause((number * EVERY_MS) / QUIET);
      while (performance.now() < until) {
        const began = performance.now();
        const id = await town.say(jid, "Have you read it?");
        const accepted = performance.now();
        waits.push((await town.ended(id)) - accepted);
        await pause(EVERY_MS - (performance.now() - began));
      }
    }),
  );
  await end();
  await pause(200);
  return quantile(waits, 0.99);
}

/** A gateway with everybody in it. */
async function openTown(store, port) {
  const at = `http://127.0.0.1:${port}`;
  const endings = new Map();
  const gateway = createGateway({
    store,
    resolveModel: (name) => {
      const id = name.split("/")[1] ?? "quick";
      return { ok: true, model: model({ api: "openai-chat", id, baseUrl: `${at}/v1` }) };
    },
    defaultModel: "bench/quick",
    tools: [digging],
    channels: [
      webhook({ name: "fine", secret: SECRET, url: `${at}/hook` }),
      webhook({ name: "dead", secret: SECRET, url: `${at}/dead` }),
    ],
    log: (_level, event, { trace }) => {
      if (event !== "turn.ended") return;
      const now = performance.now();
      endings.get(trace)?.(now);
      endings.set(trace, now);
    },
  });
  await gateway.start();
  let chats = 0;
  const add = async (kind, settings, channel = null) => {
    const jid = `${kind}-${++chats}`;
    const bindings = channel === null ? [] : [{ channel, address: `${channel}:${jid}` }];
    const result = await gateway.registerChat({ jid, trigger: "always", bindings, ...settings });
    if (result.status !== "ok") throw new Error(`${jid}: ${JSON.stringify(result)}`);
    return jid;
  };
  const addMany = async (kind, count, settings, channel = null) => {
    const jids = [];
    for (let number = 0; number < count; number++) jids.push(await add(kind, settings, channel));
    return jids;
  };
  return {
    gateway,
    add,
    addMany,
    say: async (jid, content) => {
      const result = await gateway.submitChat(jid, {
        content,
        msg_metadata: {
          source: "http",
          sender_id: "http:ada",
          sender_display_name: "Ada",
          sender_type: "human",
        },
      });
      if (result.status !== "stored") throw new Error(`${jid}: ${JSON.stringify(result)}`);
      return result.answer.message_id;
    },
    /** When the message's turn ended. */
    ended: (id) => {
      const known = endings.get(id);
      if (typeof known === "number") return Promise.resolve(known);
      return new Promise((resolve) => endings.set(id, resolve));
    },
    idle: async (jid) => {
      while (
        (await store.read.inbounds({ chat_jid: jid, outcome: "pending", after_seq: 0, limit: 1 })).length > 0
      )
        await pause(20);
    },
  };
}

/** A tool that ends when its turn is stopped. */
const digging = {
  name: "dig",
  description: "Digs.",
  parameters: { type: "object" },
  repeatable: true,
  run: (_args, { signal }) =>
    new Promise((resolve) => signal.addEventListener("abort", () => resolve("stopped"))),
};

const rotated = (names, by) => names.map((_, index) => names[(index + by) % names.length]);

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));
}
