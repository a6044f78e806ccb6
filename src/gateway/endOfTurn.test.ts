import { expect, it } from "vitest";
import { model } from "../provider/model.js";
import { openMemory } from "../store/memory.js";
import type { Store } from "../store/store.js";
import { createGateway } from "./gateway.js";

const TRIES = process.env.LONGHAND_LONG === "1" ? 10_000 : 300;
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

it("answers a message that arrives in the very moment a turn ends", { timeout: 900_000 }, async () => {
  const moments = ["before", "during", "after"] as const;
  let moment: (typeof moments)[number] = "before";
  let chat = "";
  let speak: ((chat: string) => Promise<string>) | null = null;
  const late: Promise<string>[] = [];
  const memory = openMemory();
  const store = endingStore(memory, async (now) => {
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
  for (let tried = 0; tried < TRIES; tried++) {
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
      if (!ENDED.has(await outcome(memory, chat, id))) stranded++;
    }
  }
  await gateway.stop();
  console.info(`${TRIES} messages in the moment a turn ends: ${stranded} stranded`);
  expect(stranded).toBe(0);
});

/** Waits until the message of this try was said. */
async function lateOnes(late: Promise<string>[]): Promise<string[]> {
  for (let round = 0; round < 2000 && late.length === 0; round++) await pause();
  return Promise.all(late.splice(0));
}

/** The outcome, or `pending` when it has none after a long while. */
async function outcome(store: Store, jid: string, id: string): Promise<string> {
  for (let round = 0; round < 2000; round++) {
    const inbound = await store.read.inbound(jid, id);
    if (inbound && inbound.outcome !== "pending") return inbound.outcome;
    await pause();
  }
  return "pending";
}

function pause(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
