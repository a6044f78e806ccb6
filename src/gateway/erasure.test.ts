import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import type { Call } from "../message/index.js";
import { openMemory } from "../store/memory.js";
import { openSqlite } from "../store/sqlite.js";
import { openDatabase } from "../store/sqlite/driver.js";
import type { Store } from "../store/store.js";
import { gateways, held, openHome, useHeldModel } from "../testing/heldHome.js";
import type { HeldCall } from "../testing/heldModel.js";
import { ASH, OLIVIA, type Speaker, type Talk, until } from "../testing/talk.js";
import type { Gateway } from "./gateway.js";

useHeldModel();

const folders: string[] = [];
const stores: Store[] = [];
afterEach(async () => {
  await Promise.all(gateways.splice(0).map((gateway) => gateway.stop(0)));
  await Promise.all(stores.splice(0).map((store) => store.close()));
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

async function openFile() {
  const folder = mkdtempSync(join(tmpdir(), "longhand-erasure-"));
  folders.push(folder);
  const store = await openSqlite({ path: join(folder, "longhand.db") });
  stores.push(store);
  return { folder, store };
}

/** Words nobody says by chance, and what each was hidden in. */
class Canaries {
  readonly all = new Map<string, string>();

  plant(where: string): string {
    const word = `canary${randomBytes(6).toString("hex")}`;
    this.all.set(word, where);
    return word;
  }

  /** Where the words that are found in this were hidden. */
  foundIn(bytes: string | Buffer): string[] {
    const text = Buffer.isBuffer(bytes) ? bytes.toString("latin1") : bytes;
    return [...this.all].filter(([word]) => text.includes(word)).map(([, where]) => where);
  }
}

async function ask(home: Talk, words: string, speaker: Speaker = OLIVIA): Promise<string> {
  const id = await home.say(words, speaker);
  expect(await home.outcome(id)).toBe("answered");
  return id;
}

async function receipts(gateway: Gateway): Promise<Call[]> {
  const calls = await gateway.read.calls({ chat_jid: "home", turn_id: null, after: null, limit: 500 });
  return Promise.all(calls.map((call) => gateway.receipt(call)));
}

/** Everything that can be read of a chat, and of what is beside the chats. */
async function everything(gateway: Gateway, words: readonly string[]): Promise<string> {
  const { read } = gateway;
  const rows = await gateway.getMessagesSince("home", 0);
  const calls = await receipts(gateway);
  const deliveries = { chat_jid: null, message_id: null, state: null, after: null, limit: 500 };
  const all = [
    rows,
    await Promise.all(rows.map(({ id }) => read.revisions("home", id))),
    await Promise.all(rows.map(({ id }) => gateway.outcome("home", id))),
    calls,
    await Promise.all(calls.map(async ({ id }) => String(await gateway.request(id)))),
    await Promise.all(calls.map(({ id }) => read.request(id))).then((requests) =>
      requests.flatMap(
        (request) => request?.blocks.map(({ bytes }) => Buffer.from(bytes ?? []).toString()) ?? [],
      ),
    ),
    await read.entries("home", 500),
    await read.labels("home"),
    await read.events({ after: null, chat_jid: null, limit: 5000 }),
    await read.people(),
    await read.addresses(),
    await read.deliveries(deliveries),
    await read.chats(),
    await gateway.usage({ by: "person" }),
    await gateway.context("home", undefined),
    (await Promise.all(words.map((word) => read.search("home", word, 10)))).flat(),
  ];
  return JSON.stringify(all);
}

describe("after a person is erased", () => {
  test("no byte of their words is in any answer, in the database file or its log", async () => {
    const { folder, store } = await openFile();
    held.answerAll((call) => call.say("Fine."));
    const shell = async () => ({ ok: true, output: "done", exit_code: 0, note: "" }) as const;
    const settings = {
      shell_allow: ["slack:U1"],
      bindings: [
        { channel: "web", address: "web:home" },
        { channel: "slack", address: "slack:C1" },
      ],
    };
    const { gateway, home } = await openHome(settings, { store, shell });
    const canaries = new Canaries();
    const plant = (where: string) => canaries.plant(where);
    await gateway.addPerson({ id: "olivia", name: plant("person's name"), senders: ["slack:U1", "web:o"] });
    // Long enough to fill pages, and for the index to take them in.
    for (let count = 0; count < 70; count++) {
      const speaker = count % 2 ? ASH : { ...OLIVIA, sender_display_name: plant("name") };
      const words = count % 2 ? "hm ".repeat(200) : `${plant("text")} ${"and so on ".repeat(count)}`;
      await gateway.storePassiveMessage("home", {
        content: words,
        msg_metadata: { source: "slack", sender_type: "human", ...speaker },
      });
    }
    const body = {
      content: plant("caption"),
      attachments: [
        { name: `${plant("file name")}.txt`, mime_type: "text/plain", data: base64(plant("file")) },
        { name: "same.txt", mime_type: "text/plain", data: base64("ours alike") },
      ],
      msg_metadata: {
        source: "slack",
        sender_type: "human",
        ...OLIVIA,
        external_message_id: plant("external id"),
        thread_id: "T1",
        thread_context: plant("thread context"),
        mention_token: plant("token"),
        quoted: { text: plant("reply quote") },
        reaction: plant("reaction"),
      },
    };
    const first = await gateway.submitChat("home", body, { idempotencyKey: plant("idempotency key") });
    if (first.status !== "stored") throw new Error(JSON.stringify(first));
    expect(await home.outcome(first.answer.message_id)).toBe("answered");
    const alike = await gateway.submitChat("home", {
      content: "the same file",
      attachments: [{ name: "mine.txt", mime_type: "text/plain", data: base64("ours alike") }],
      msg_metadata: {
        source: "slack",
        sender_type: "human",
        ...ASH,
        thread_context: plant("quoted by another"),
      },
    });
    if (alike.status !== "stored") throw new Error(JSON.stringify(alike));
    await home.ended(alike.answer.message_id);
    const edited = await ask(home, plant("before an edit"), { ...OLIVIA, sender_id: "web:o" });
    await gateway.revise("home", edited, plant("edit"));
    await gateway.revise("home", edited, plant("second edit"));
    await ask(home, "so?", ASH);
    await gateway.revise("home", await ask(home, plant("deleted")), null);
    await home.ended(await home.say(`!echo ${plant("command")}`));
    await ask(home, "well?", ASH);
    await until(() => isIndexed(folder));

    const words = [...canaries.all.keys()];
    const before = canaries.foundIn(await everything(gateway, words));
    expect(new Set(before)).toEqual(
      new Set([...canaries.all.values()].filter((where) => !HIDDEN.has(where))),
    );
    const asked = held.calls.length;
    const erased = await gateway.eraseSender("slack:U1");
    expect(erased).toMatchObject({
      status: "erased",
      erasure: { messages: 40, attachments: 2, scrubbed: true },
    });
    expect(canaries.foundIn(await everything(gateway, words))).toEqual([]);
    expect(filesWith(folder, canaries)).toEqual([]);

    // The same request, and the same platform message, bring nothing back.
    const again = await gateway.submitChat("home", body);
    expect(again).toMatchObject({ status: "stored", answer: { duplicate: true } });
    await ask(home, "and now?", ASH);
    expect(canaries.foundIn(JSON.stringify(held.calls.slice(asked).map(({ messages }) => messages)))).toEqual(
      [],
    );
    const bytes = JSON.stringify(held.calls.at(-1)?.messages);
    expect(bytes).toContain("ours alike");
    const [reason] = (await receipts(gateway)).at(-1)?.breaks ?? [];
    expect(reason?.reason).toMatch(/^an earlier message is left out: erased; \d+ bytes/);
    await gateway.stop(0);
    await store.close();
    expect(filesWith(folder, canaries)).toEqual([]);
  }, 60_000);

  test("their receipts can still be listed, and say that the rest is gone for good", async () => {
    held.answerAll((call) => call.say("Fine."));
    const { gateway, home } = await openHome();
    await ask(home, "hello", ASH);
    await ask(home, "the code is 1234");
    await gateway.eraseSender("slack:U1");
    await ask(home, "so?", ASH);
    const calls = await receipts(gateway);
    expect(calls.map(({ redacted }) => redacted)).toEqual([false, true, false]);
    const requests = await Promise.all(calls.map(({ id }) => gateway.request(id)));
    expect(requests.map((bytes) => (bytes === "erased" ? bytes : "whole"))).toEqual([
      "whole",
      "erased",
      "whole",
    ]);
    expect(calls[2]?.left_out).toContainEqual(expect.objectContaining({ reason: "erased" }));
  });

  test("a summary that tells of them is not read any more: what it covered is, without them", async () => {
    const { folder, store } = await openFile();
    const { gateway, home } = await openHome({}, { store });
    const canaries = new Canaries();
    const secret = canaries.plant("text");
    held.answerAll((call) => call.say(isSummary(call) ? `She said ${canaries.plant("summary")}.` : "Fine."));
    await ask(home, "hello", ASH);
    for (let count = 0; count < 12; count++) await ask(home, `${secret} ${"and so on ".repeat(3000)}`);
    expect(await gateway.compact("home")).toMatchObject({ ok: true });
    await ask(home, "so?", ASH);
    expect(canaries.foundIn(JSON.stringify(held.calls.at(-1)?.messages))).toContain("summary");

    const erased = await gateway.eraseSender("slack:U1");
    expect(erased).toMatchObject({ status: "erased", erasure: { messages: 12, summaries: 1 } });
    await ask(home, "and now?", ASH);
    expect(held.calls.at(-1)?.heard).toEqual(["[Ash]: hello", "[Ash]: so?", "[Ash]: and now?"]);
    const [reason] = (await receipts(gateway)).at(-1)?.breaks ?? [];
    expect(reason?.reason).toMatch(/^the summary is left out: erased; /);
    expect(canaries.foundIn(await everything(gateway, [secret]))).toEqual([]);
    expect(filesWith(folder, canaries)).toEqual([]);
  }, 60_000);

  test("nobody is let in by their name, and they may come back as somebody new", async () => {
    held.answerAll((call) => call.say("Fine."));
    const { gateway, home } = await openHome();
    await gateway.addPerson({ id: "olivia", name: "Olivia", senders: ["slack:U1"] });
    await gateway.changeChat("home", {
      allow: ["person:olivia", "slack:U2"],
      read: ["slack:U1", "slack:U2"],
    });
    await ask(home, "hello");
    expect((await gateway.eraseSender("person:olivia")).status).toBe("erased");
    expect(await gateway.read.chat("home")).toMatchObject({ allow: ["slack:U2"], read: ["slack:U2"] });
    expect(await gateway.read.people()).toEqual([]);
    await gateway.changeChat("home", { allow: "*", read: "*" });
    await ask(home, "it is me again");
    expect(held.calls.at(-1)?.heard).toEqual(["[Olivia]: it is me again"]);
  });

  test("asking for somebody who never spoke says so, and so does asking twice", async () => {
    held.answerAll((call) => call.say("Fine."));
    const { gateway, home } = await openHome();
    expect(await gateway.eraseSender("slack:nobody")).toEqual({ status: "unknown" });
    expect(await gateway.eraseSender("person:nobody")).toEqual({ status: "unknown" });
    expect((await gateway.eraseSender("Olivia")).status).toBe("invalid");
    expect((await gateway.eraseSender("bot")).status).toBe("invalid");
    await ask(home, "hello");
    expect((await gateway.eraseSender("slack:U1")).status).toBe("erased");
    expect((await gateway.eraseSender("slack:U1")).status).toBe("unknown");
  });
});

describe("while a turn runs", () => {
  const openEach = { memory: async () => openMemory(), sqlite: async () => (await openFile()).store };

  test.each(["memory", "sqlite"] as const)("it goes on without their words (%s)", async (kind) => {
    const { gateway, home, store } = await openHome({}, { store: await openEach[kind]() });
    const secret = await home.say("the code is 1234");
    (await held.next()).say("Fine.");
    expect(await home.outcome(secret)).toBe("answered");
    const id = await home.say("so?", ASH);
    const cut = await held.next();
    cut.begin("The code");
    expect((await gateway.eraseSender("slack:U1")).status).toBe("erased");
    const second = await held.next();
    expect(JSON.stringify(second.messages)).not.toContain("1234");
    second.say("I do not know.");
    expect(await home.outcome(id)).toBe("answered");
    expect(await home.answers()).toEqual(["Fine.", "I do not know."]);
    expect(await store.read.runningTurns(null)).toEqual([]);
    expect(await everything(gateway, ["1234"])).not.toContain("1234");
  });

  test("a list of what is to be done does not repeat them", async () => {
    const { gateway, home } = await openHome();
    const id = await home.say("hello", ASH);
    const call = await held.next();
    const todo = await home.say("todo order 1234");
    expect(await home.command("todos", ASH)).toContain("order 1234");
    expect((await gateway.eraseSender("slack:U1")).status).toBe("erased");
    expect(call.gone || (await until(() => call.gone))).toBe(true);
    (await held.next()).say("Hello.");
    expect(await home.outcome(id)).toBe("answered");
    expect(await home.outcome(todo)).toBe("ignored");
    expect(await everything(gateway, ["1234"])).not.toContain("1234");
  });

  test("that answers them ends, and what was said meanwhile is answered", async () => {
    const { gateway, home, store } = await openHome();
    const secret = await home.say("the code is 1234");
    (await held.next()).begin("So the code is");
    const id = await home.say("hello?", ASH);
    expect((await gateway.eraseSender("slack:U1")).status).toBe("erased");
    const second = await held.next();
    expect(second.heard).toEqual(["[Ash]: hello?"]);
    second.say("Hello.");
    expect(await home.outcome(id)).toBe("answered");
    expect(await home.ended(secret)).toMatchObject({ outcome: "ignored", reason: "erased" });
    expect(await home.answers()).toEqual(["Hello."]);
    expect(await store.read.runningTurns(null)).toEqual([]);
    expect(await everything(gateway, ["1234"])).not.toContain("1234");
  });
});

function isSummary(call: HeldCall): boolean {
  return JSON.stringify(call.messages).includes("Summarise the conversation");
}

/** What no answer shows even before: they are hashed, or only the database knows them. */
const HIDDEN = new Set(["idempotency key"]);

function base64(words: string): string {
  return Buffer.from(words).toString("base64");
}

function isIndexed(folder: string): boolean {
  const db = openDatabase(join(folder, "longhand.db"), { readOnly: true, busyMs: 1000 });
  const row = db.prepare("SELECT indexed_seq FROM chats WHERE jid = 'home'").get();
  db.close();
  return row?.indexed_seq === 64;
}

function filesWith(folder: string, canaries: Canaries): string[] {
  return readdirSync(folder).flatMap((file) =>
    canaries.foundIn(readFileSync(join(folder, file))).map((where) => `${file}: ${where}`),
  );
}
