import { join } from "node:path";
import { createGateway } from "../dist/gateway/index.js";
import { model } from "../dist/provider/model.js";
import { openSqlite } from "../dist/store/sqlite.js";
import { answering, ask } from "./conversation.mjs";
import { buildChat } from "./longChat.mjs";
import { median } from "./measure.mjs";
import { temporaryFolder } from "./surroundings.mjs";

/** Opening, answering and summarising in a chat of 100,000 messages, beside one of 1,000. The model answers at once. */

const ANSWERS = 60;
const WARM_UP = 10;
const SUMMARIES = 5;
/** Small enough that it is summarised on the way, too. */
const WINDOW_TOKENS = 16_000;
const NEVER = 1_000_000;

/** @param {(step: string) => void} progress @returns {Promise<import("./measure.mjs").Line[]>} */
export async function longTalk(progress) {
  const folder = temporaryFolder();
  try {
    progress("making the short chat");
    const short = await openChat(join(folder.path, "short.db"), 1_000);
    progress("making the long chat");
    const long = await openChat(join(folder.path, "long.db"), 100_000);
    progress("talking");
    for (let turn = 0; turn < WARM_UP + ANSWERS; turn++) {
      for (const chat of turn % 2 === 0 ? [short, long] : [long, short]) await chat.answer(turn);
    }
    for (let turn = 0; turn < SUMMARIES; turn++) for (const chat of [short, long]) await chat.summarise(turn);
    await Promise.all([short.close(), long.close()]);
    const line = (what, of, target) => {
      const [ours, reference] = [of(long), of(short)];
      return { what, unit: "ms", ours, reference, compare: "ratio", score: ours / reference, target };
    };
    const times = (of) => (chat) => median(of(chat));
    return [
      line("open a chat of 100,000 messages / of 1,000", (chat) => chat.opened, null),
      line(
        "  answer in it",
        times(({ answers }) => answers.slice(WARM_UP)),
        { atMost: 1.5 },
      ),
      line(
        "  summarise it",
        times(({ summaries }) => summaries),
        { atMost: 1.5 },
      ),
    ];
  } finally {
    folder.remove();
  }
}

async function openChat(path, messages) {
  const { jid } = await buildChat(path, { messages, trigger: "always" });
  const before = performance.now();
  const store = await openSqlite({ path });
  const { model: asked, fetch } = answering(NEVER);
  const gateway = createGateway({
    store,
    resolveModel: () => ({ ok: true, model: model({ ...asked, window: WINDOW_TOKENS }) }),
    defaultModel: "bench",
    fetch,
  });
  await gateway.start();
  const opened = performance.now() - before;
  const answers = [];
  const summaries = [];
  return {
    opened,
    answers,
    summaries,
    answer: async (turn) => void answers.push(await timed(() => ask(gateway, jid, turn))),
    summarise: async (turn) => {
      for (let asked = 0; asked < 4; asked++) await ask(gateway, jid, 10 * turn + asked);
      const made = await timed(() => gateway.compact(jid));
      summaries.push(made);
    },
    close: async () => {
      await gateway.stop();
      await store.close();
    },
  };
}

async function timed(work) {
  const before = performance.now();
  const result = await work();
  if (result?.ok === false) throw new Error(result.why);
  return performance.now() - before;
}
