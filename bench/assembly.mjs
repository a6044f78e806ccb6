import { join } from "node:path";
import { hostRowsSince, readWindow, requestOf } from "../dist/gateway/window.js";
import { DEFAULT_LIMITS } from "../dist/gateway/index.js";
import { openSqlite } from "../dist/store/sqlite.js";
import { buildChat, WINDOW } from "./longChat.mjs";
import { figureOf, ratioOf } from "./measure.mjs";
import { temporaryFolder } from "./surroundings.mjs";

/** Reading and assembling a window of 200 messages, as a turn does it: of a short chat, a very long one, a flooded and a forked one. */

const ROUNDS = 200;
const WARM_UP = 30;
const CHATS = {
  short: { messages: 1_000 },
  long: { messages: 1_000_000 },
  flooded: { messages: 1_000, hostRows: 100_000 },
  forked: { messages: 1_000, forks: 1_000 },
};

/** @param {(step: string) => void} progress @returns {Promise<import("./measure.mjs").Line[]>} */
export async function assembly(progress) {
  const folder = temporaryFolder();
  /** @type {Record<string, Awaited<ReturnType<typeof openChat>>>} */
  const opened = {};
  try {
    for (const [name, size] of Object.entries(CHATS)) {
      progress(`making the ${name} chat`);
      opened[name] = await openChat(join(folder.path, `${name}.db`), size);
    }
    progress("reading");
    const rounds = [];
    for (let round = 0; round < WARM_UP + ROUNDS; round++) {
      const took = {};
      for (const name of taking(Object.keys(CHATS), round)) took[name] = await assemble(opened[name]);
      if (round >= WARM_UP) rounds.push(took);
    }
    return linesOf(rounds);
  } finally {
    for (const { store } of Object.values(opened)) await store.close();
    folder.remove();
  }
}

/** Each comes first as often as the others. */
function taking(names, round) {
  const first = round % names.length;
  return [...names.slice(first), ...names.slice(0, first)];
}

function linesOf(rounds) {
  const against = (name) =>
    ratioOf(rounds.map((took) => ({ ours: took[name].total, reference: took.short.total })));
  const target = { atMost: 1.5 };
  return [
    { what: "read + assemble 200 of 1,000,000 / of 1,000", unit: "ms", ...against("long"), target },
    { what: "  with 100,000 host rows in between / without", unit: "ms", ...against("flooded"), target },
    { what: "  with 1,000 forks near the head / without", unit: "ms", ...against("forked"), target },
    {
      what: "assemble a window of 200 messages",
      unit: "ms",
      ...figureOf(rounds.map((took) => took.long.assembling)),
      target: { atMost: 2 },
    },
  ];
}

async function openChat(path, size) {
  const chat = await buildChat(path, size);
  const store = await openSqlite({ path });
  const head = await store.read.head(chat.jid, "");
  return { store, chat, head };
}

/** What a turn does before it asks the model. */
async function assemble({ store, chat, head }) {
  const hall = { store, limits: DEFAULT_LIMITS, tools: [] };
  const before = performance.now();
  const window = await readWindow(hall, chat, head);
  const hostRows = await hostRowsSince(hall, chat.jid, window.path.at(-1)?.at ?? null);
  const read = performance.now();
  const { request } = requestOf(hall, chat, window, []);
  const ended = performance.now();
  // The summary, then what it kept and what came after.
  if (request.messages.length !== WINDOW + 1)
    throw new Error(`a window of ${request.messages.length} messages`);
  return { total: ended - before, assembling: ended - read, hostRows: hostRows.length };
}
