import { beforeEach, describe, expect, it } from "vitest";
import type { MediaLimits, Transcript } from "../agent/index.js";
import { type AttachmentRow, chatWithDefaults, type MessageRow } from "../message/index.js";
import { openMemory } from "../store/memory.js";
import type { Fact, Store } from "../store/store.js";
import { isPrepared, prepareAttachments } from "./attachments.js";
import { systemClock } from "./clock.js";
import { type Fetched, fetchOutside } from "./fetchOutside.js";
import { chatLookup } from "./hall.js";
import { NOT_FETCHED } from "./ingest.js";
import { newRow, sha256 } from "./rows.js";

const AT = "2026-11-15T12:00:00.000Z";
let store: Store;
let fetch: (url: string) => Promise<Fetched>;
let pictures: number;
let clips: string[];
let limits: MediaLimits | null;
let hall: Parameters<typeof prepareAttachments>[0];

beforeEach(async () => {
  store = openMemory();
  fetch = bytesOf;
  pictures = 0;
  clips = [];
  limits = null;
  hall = {
    store,
    chats: chatLookup(store),
    clock: systemClock,
    log: () => {},
    budget: { usd: null, tokens: null },
    media: {
      fetch: (url) => fetch(url),
      picture: async (bytes) => {
        pictures++;
        return bytes.length > 100 ? { ok: true, bytes: bytes.slice(0, 50) } : { ok: true, bytes };
      },
      transcriber: null,
      limitsIn: async () => limits,
    },
  };
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

/** A message with this file. */
async function carrying(id: string, mime_type: string, bytes: Uint8Array): Promise<MessageRow> {
  const row = await pointing(id);
  const attachment: AttachmentRow = {
    name: "file",
    mime_type,
    size: bytes.length,
    sha256: sha256(bytes),
    state: "delivered",
    reason: null,
    url: null,
  };
  const at = { type: "attachment", chat_jid: "home", message_id: row.id, index: 0 } as const;
  await store.commit({ facts: [{ ...at, attachment, bytes }] });
  return stored(id);
}

const png = (length: number) =>
  Uint8Array.from({ length }, (_, at) => [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a][at] ?? at % 256);
const OGG = new TextEncoder().encode("OggS and more");
const HEARS = (types: string[], bytes = 1000): MediaLimits => ({
  image: null,
  audio: { types, bytes },
  total: 1000,
});

function transcribes(answer: () => Promise<Transcript>): void {
  hall.media.transcriber = {
    name: "openai/whisper-1",
    transcribe: ({ mime }) => {
      clips.push(mime);
      return answer();
    },
  };
}

describe("what models get of a file", () => {
  it("is the picture made smaller, once, and the original stays", async () => {
    const large = png(200);
    const row = await carrying("m1", "image/png", large);
    const [first] = await prepareAttachments(hall, [row]);
    expect(first).toEqual(await stored("m1"));
    const seen = first?.attachments[0]?.seen_sha256 ?? "";
    expect((await store.read.attachmentBytes(seen))?.length).toBe(50);
    expect(first?.attachments[0]?.sha256).toBe(sha256(large));
    expect(await store.read.attachmentBytes(sha256(large))).toEqual(large);
    await prepareAttachments(hall, [await stored("m1")]);
    expect(pictures).toBe(1);
  });

  it("is the file itself where there is nothing to change", async () => {
    const rows = [
      await carrying("m1", "image/png", png(20)),
      await carrying("m2", "application/pdf", png(0)),
    ];
    const ready = await prepareAttachments(hall, rows);
    for (const { attachments } of ready) expect(attachments[0]?.seen_sha256).toBe(attachments[0]?.sha256);
    expect(ready.every(isPrepared)).toBe(true);
    expect(rows.some(isPrepared)).toBe(false);
  });

  it("is nothing of a picture that cannot be read, with the reason", async () => {
    hall.media.picture = async () => ({ ok: false, why: "damaged" });
    const [row] = await prepareAttachments(hall, [await carrying("m1", "image/png", png(20))]);
    expect(row?.attachments[0]).toMatchObject({ state: "unavailable", reason: "damaged", size: 20 });
    expect(row && isPrepared(row)).toBe(true);
  });

  it("is what was written down of a sound that the chat's model does not hear, and it is in the accounts", async () => {
    limits = HEARS(["audio/wav"]);
    const usage = { inputTokens: 7, outputTokens: 3, seconds: 2 };
    transcribes(async () => ({ ok: true, text: " buy milk\n", usage }));
    const [row] = await prepareAttachments(hall, [await carrying("m1", "audio/x-odd", OGG)]);
    expect(row).toEqual(await stored("m1"));
    expect(row?.attachments[0]).toMatchObject({ state: "transcribed", transcript: "buy milk" });
    await prepareAttachments(hall, [await stored("m1")]);
    expect(clips).toEqual(["audio/ogg"]);
    for (const account of ["chat:home", "sender:web:olivia", "model:openai/whisper-1", "server"]) {
      const [spent] = await store.read.spent({ accounts: { is: account }, from: "2000", to: "3000" });
      expect(spent?.spending, account).toMatchObject({
        calls: 1,
        unpriced: 1,
        input_tokens: 7,
        output_tokens: 3,
      });
    }
  });

  it("is the sound itself where the model hears it, or where nobody writes it down", async () => {
    const rows = [await carrying("m1", "audio/ogg", OGG)];
    expect((await prepareAttachments(hall, rows))[0]?.attachments[0]?.state).toBe("delivered");
    transcribes(async () => ({ ok: true, text: "x", usage: null }));
    limits = HEARS(["audio/ogg"]);
    const [heard] = await prepareAttachments(hall, [await carrying("m2", "audio/ogg", OGG)]);
    expect(heard?.attachments[0]?.state).toBe("delivered");
    limits = HEARS(["audio/ogg"], 5);
    const [long] = await prepareAttachments(hall, [await carrying("m3", "audio/ogg", OGG)]);
    expect(long?.attachments[0]?.state).toBe("transcribed");
    expect(clips).toHaveLength(1);
  });

  it("is a reason where a sound could not be written down, and it is not tried again", async () => {
    transcribes(async () => ({ ok: false, why: "the transcription server answered 500" }));
    const [row] = await prepareAttachments(hall, [await carrying("m1", "audio/ogg", OGG)]);
    expect(row?.attachments[0]).toMatchObject({
      state: "unavailable",
      reason: "it could not be transcribed: the transcription server answered 500",
    });
    await prepareAttachments(hall, [await stored("m1")]);
    expect(clips).toHaveLength(1);
  });

  it("is made once also when two turns want it at the same time", async () => {
    let finish: () => void = () => {};
    const gate = new Promise<void>((resolve) => (finish = resolve));
    transcribes(() => gate.then(() => ({ ok: true, text: `heard ${clips.length}`, usage: null })));
    const row = await carrying("m1", "audio/ogg", OGG);
    const both = Promise.all([prepareAttachments(hall, [row]), prepareAttachments(hall, [row])]);
    await new Promise((resolve) => setImmediate(resolve));
    finish();
    const [[one], [other]] = await both;
    expect(clips).toHaveLength(1);
    expect(one?.attachments).toEqual(other?.attachments);
  });
});

describe("attachments that are only pointed to", () => {
  it("are kept with their message before the turn uses them", async () => {
    const row = await pointing("m1", "http://x/1", "http://x/2");
    const [fetched] = await prepareAttachments(hall, [row]);
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
    fetch = async (url) => {
      asked++;
      if (url === "http://x/2") throw new Error("out of order");
      return { ok: false, why: "no" };
    };
    const again = await prepareAttachments(hall, [row]);
    await prepareAttachments(hall, again);
    expect(asked).toBe(2);
    expect((await stored("m1")).attachments.map(({ state, reason }) => [state, reason])).toEqual([
      ["unavailable", "no"],
      ["unavailable", "out of order"],
    ]);
  });

  it("of our own network are refused", async () => {
    fetch = (url) => fetchOutside(url);
    const [row] = await prepareAttachments(hall, [await pointing("m1", "http://127.0.0.1:9/")]);
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
    fetch = async (url) => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
      return bytesOf(url);
    };
    const fetched = await prepareAttachments(hall, rows);
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
    fetch = (url) => {
      asked.push(url);
      return bytesOf(url);
    };
    await prepareAttachments(hall, [await stored("m1")]);
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
    await expect(prepareAttachments(hall, [row], old)).rejects.toThrow("taken over");
    expect((await stored("m1")).attachments[0]?.reason).toBe(NOT_FETCHED);
    await prepareAttachments(hall, [row], now);
    expect((await stored("m1")).attachments[0]?.state).toBe("delivered");
  });
});
