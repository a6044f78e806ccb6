import { beforeEach, describe, expect, it } from "vitest";
import { type AttachmentRow, chatWithDefaults, type MessageRow } from "../message/index.js";
import { openMemory } from "../store/memory.js";
import type { Fact, Store } from "../store/store.js";
import { fetchAttachments } from "./attachments.js";
import type { Fetched } from "./fetchOutside.js";
import { NOT_FETCHED } from "./ingest.js";
import { newRow } from "./rows.js";

const AT = "2026-11-15T12:00:00.000Z";
let store: Store;
let hall: { store: Store };

beforeEach(async () => {
  store = openMemory();
  hall = { store };
  await store.commit({
    facts: [{ type: "chat", chat: chatWithDefaults({ jid: "home" }, "Longhand", []), at: AT }],
  });
});

/** A message that points to these URLs. */
async function pointing(id: string, ...urls: string[]): Promise<MessageRow> {
  const message = newRow({
    id,
    chat_jid: "home",
    sender: "web:olivia",
    sender_name: "Olivia",
    content: "look",
    timestamp: AT,
    message_type: "user",
    metadata: {},
  });
  const attachments = urls.map((url, index): Fact => {
    const attachment: AttachmentRow = {
      name: "picture.png",
      mime_type: "image/png",
      size: 0,
      sha256: null,
      state: "unavailable",
      reason: NOT_FETCHED,
      url,
    };
    return { type: "attachment", chat_jid: "home", message_id: id, index, attachment, bytes: null };
  });
  await store.commit({ facts: [{ type: "message", message }, ...attachments] });
  return stored(id);
}

async function stored(id: string): Promise<MessageRow> {
  const row = await store.read.message("home", id);
  if (!row) throw new Error(`no message ${id}`);
  return row;
}

const bytesOf = async (url: string): Promise<Fetched> => ({ ok: true, bytes: new TextEncoder().encode(url) });

describe("attachments that are only pointed to", () => {
  it("are kept with their message before the turn uses them", async () => {
    const row = await pointing("m1", "http://x/1", "http://x/2");
    const [fetched] = await fetchAttachments(hall, [row], null, bytesOf);
    expect(fetched?.attachments.map(({ state, size }) => [state, size])).toEqual([
      ["delivered", 10],
      ["delivered", 10],
    ]);
    expect(fetched).toEqual(await stored("m1"));
    const bytes = await store.read.attachmentBytes(fetched?.attachments[1]?.sha256 ?? "");
    expect(Buffer.from(bytes ?? []).toString()).toBe("http://x/2");
  });

  it("say why they cannot be had, whatever went wrong, and are not asked for again", async () => {
    const row = await pointing("m1", "http://127.0.0.1/", "http://x/2");
    let asked = 0;
    const fetch = async (url: string): Promise<Fetched> => {
      asked++;
      if (url === "http://x/2") throw new Error("out of order");
      return { ok: false, why: "no" };
    };
    const again = await fetchAttachments(hall, [row], null, fetch);
    await fetchAttachments(hall, again, null, fetch);
    expect(asked).toBe(2);
    expect((await stored("m1")).attachments.map(({ state, reason }) => [state, reason])).toEqual([
      ["unavailable", "no"],
      ["unavailable", "out of order"],
    ]);
  });

  it("of our own network are refused", async () => {
    const [row] = await fetchAttachments(hall, [await pointing("m1", "http://127.0.0.1:9/")]);
    expect(row?.attachments[0]?.reason).toBe("the address is inside a private network");
  });

  it("are fetched a few at a time, however many there are", async () => {
    const urls = Array.from({ length: 10 }, (_, index) => `http://x/${index}`);
    const rows = await Promise.all([
      pointing("m1", ...urls),
      pointing("m2", ...urls),
      pointing("m3", ...urls),
    ]);
    let running = 0;
    let most = 0;
    const fetched = await fetchAttachments(hall, rows, null, async (url) => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
      return bytesOf(url);
    });
    expect(most).toBe(4);
    const states = fetched.flatMap(({ attachments }) => attachments.map(({ state }) => state));
    expect(states).toEqual(Array(30).fill("delivered"));
  });

  it("of a deleted message are left alone", async () => {
    await pointing("m1", "http://x/1");
    await store.commit({
      facts: [{ type: "revision", chat_jid: "home", message_id: "m1", content: null, at: AT }],
    });
    const asked: string[] = [];
    await fetchAttachments(hall, [await stored("m1")], null, (url) => {
      asked.push(url);
      return bytesOf(url);
    });
    expect(asked).toEqual([]);
  });

  it("are not kept by a turn that was taken over", async () => {
    const row = await pointing("m1", "http://x/1");
    const work = {
      id: "w",
      kind: "turn",
      lane: "turn:home",
      chat_jid: "home",
      ref: "m1",
      run_at: 0,
    } as const;
    await store.commit({ facts: [{ type: "work", work: { ...work, attempts: 0 } }] });
    const claimed = (now: number) => store.claim({ kind: "turn", holder: "h", now, leaseMs: 10, limit: 1 });
    const [old] = await claimed(0);
    const [now] = await claimed(20);
    if (!old || !now) throw new Error("no claim");
    await expect(fetchAttachments(hall, [row], old, bytesOf)).rejects.toThrow("taken over");
    expect((await stored("m1")).attachments[0]?.reason).toBe(NOT_FETCHED);
    await fetchAttachments(hall, [row], now, bytesOf);
    expect((await stored("m1")).attachments[0]?.state).toBe("delivered");
  });
});
