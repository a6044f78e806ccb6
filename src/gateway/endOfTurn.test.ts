import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { model } from "../provider/model.js";
import { openMemory } from "../store/memory.js";
import { openSqlite } from "../store/sqlite.js";
import type { Store } from "../store/store.js";
import { systemClock } from "./clock.js";
import { createGateway } from "./gateway.js";

const TRIES = process.env.LONGHAND_LONG === "1" ? 10_000 : 300;
const LONG_WHILE_MS = 3000;
const MODES = ["steer", "queue", "collect", "interrupt"] as const;
const ENDED = new Set(["answered", "steered", "collected", "superseded"]);

/** Calls back around the write that ends a turn: just before it, while it is written, or just after. */
function endingStore(store: Store, atEnd: (moment: "before" | "during" | "after") => Promise<void>): Store {
  return {
    ...store,
    async settle(settlement) {
      const ends = settlement.facts.some(({ type }) => type === "turn_ended");
      if (!ends) return store.settle(settlement);
      await atEnd("before");
      const during = atEnd("during");
      const result = await store.settle(settlement);
      await Promise.all([during, atEnd("after")]);
      return result;
    },
  };
}

const answers = async () =>
  Response.json({
    id: "1",
    object: "chat.completion",
    choices: [{ index: 0, message: { role: "assistant", content: "yes" }, finish_reason: "stop" }],
  });

const STORES = {
  "in memory": { open: async () => openMemory(), tries: TRIES },
  // Its claims are foreseen: they are asked for right behind the message.
  "on SQLite": { open: () => openSqlite({ path: join(folder(), "longhand.db") }), tries: TRIES / 2 },
};

it.each(Object.entries(STORES))(
  "answers a message that arrives in the very moment a turn ends, %s",
  {
    timeout: 1_800_000,
  },
  async (name, { open, tries }) => {
    const moments = ["before", "during", "after"] as const;
    let moment: (typeof moments)[number] = "before";
    let chat = "";
    let speak: ((chat: string) => Promise<string>) | null = null;
    const late: Promise<string>[] = [];
    const kept = await open();
    const store = endingStore(kept, async (now) => {
      if (now !== moment || !speak) return;
      const again = speak;
      speak = null;
      const said = again(chat);
      late.push(said);
      if (now === "before") await said;
    });
    const gateway = createGateway({
      store,
      resolveModel: () => ({
        ok: true,
        model: model({ api: "openai-chat", id: "m", baseUrl: "http://127.0.0.1:9/v1" }),
      }),
      defaultModel: "m",
      tools: [],
      fetch: answers,
      clock: withoutNet,
    });
    await gateway.start();
    const say = async (jid: string): Promise<string> => {
      const result = await gateway.submitChat(jid, {
        content: "and this?",
        msg_metadata: {
          source: "http",
          sender_id: "http:1",
          sender_type: "human",
          sender_display_name: "Olivia",
        },
      });
      return result.status === "stored" ? result.answer.message_id : JSON.stringify(result);
    };
    let stranded = 0;
    for (let tried = 0; tried < tries; tried++) {
      // A fresh chat every little while keeps the histories short.
      if (tried % 40 === 0) {
        chat = `chat${tried}`;
        const while_busy = MODES[(tried / 40) % MODES.length];
        await gateway.registerChat({ jid: chat, trigger: "always", while_busy });
      }
      moment = moments[tried % moments.length] ?? "before";
      speak = say;
      const first = await say(chat);
      for (const id of [first, ...(await lateOnes(late))]) {
        if (!ENDED.has(await outcome(kept, chat, id))) stranded++;
      }
    }
    await gateway.stop();
    await kept.close();
    console.info(`${tries} messages in the moment a turn ends, ${name}: ${stranded} stranded`);
    expect(stranded).toBe(0);
  },
);

/** Nobody looks again by and by for what was overlooked. */
const withoutNet = { ...systemClock, every: () => () => {} };

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "longhand-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Waits until the message of this try was said. */
async function lateOnes(late: Promise<string>[]): Promise<string[]> {
  for (const end = Date.now() + LONG_WHILE_MS; Date.now() < end && late.length === 0; ) await pause();
  return Promise.all(late.splice(0));
}

/** The outcome, or `pending` when it has none after a long while. */
async function outcome(store: Store, jid: string, id: string): Promise<string> {
  for (const end = Date.now() + LONG_WHILE_MS; Date.now() < end; ) {
    const inbound = await store.read.inbound(jid, id);
    if (inbound && inbound.outcome !== "pending") return inbound.outcome;
    await pause();
  }
  return "pending";
}

function pause(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
