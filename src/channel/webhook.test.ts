import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { Webhook } from "standardwebhooks";
import { afterEach, describe, expect, test } from "vitest";
import type { Gate, InboundMessage, OutgoingMessage, Received, WebhookRequest } from "./channel.js";
import { signatureOf } from "./signature.js";
import { type WebhookSettings, webhook } from "./webhook.js";

const SECRET = `whsec_${Buffer.from("a key of thirty-two bytes, right").toString("base64")}`;
const NEW_SECRET = `whsec_${Buffer.from("another of thirty-two bytes, yes").toString("base64")}`;
const NOW = Date.parse("2026-03-04T05:06:07.890Z");
const METADATA = { sender_id: "home:olivia", sender_display_name: "Olivia", sender_type: "human" };
const BODY = { place: "kitchen", content: "  hi\n", msg_metadata: METADATA };

const open = new Set<{ close(): unknown }>();
afterEach(() => {
  for (const server of open) server.close();
  open.clear();
});

describe("a program pushes a message", () => {
  test("it is heard at its place, with what was not said filled in", async () => {
    const { channel, heard } = await listening();
    const answer = await channel.webhook?.(push(BODY));
    expect(answer?.status).toBe(202);
    expect(JSON.parse(answer?.body ?? "")).toEqual(STORED.answer);
    expect(heard).toEqual([
      {
        address: "webhook:kitchen",
        content: "  hi\n",
        msg_metadata: {
          ...METADATA,
          source: "webhook",
          channel_external_id: "kitchen",
          external_message_id: "msg_1",
        },
        attachments: null,
        timestamp: null,
      },
    ]);
  });

  test("what it does say is kept as it said it, save that it speaks on this channel and no other", async () => {
    const { channel, heard } = await listening({ name: "irc" });
    const given = {
      ...METADATA,
      source: "libera",
      channel_external_id: "#k",
      external_message_id: "77",
      mood: [1],
    };
    const attachments = [{ name: "a.txt", mime_type: "text/plain", data: "aGk=" }];
    await channel.webhook?.(
      push({ ...BODY, msg_metadata: given, attachments, timestamp: "2026-01-01T00:00:00Z" }),
    );
    expect(heard[0]).toEqual({
      address: "irc:kitchen",
      content: BODY.content,
      msg_metadata: { ...given, source: "irc" },
      attachments,
      timestamp: "2026-01-01T00:00:00Z",
    });
  });

  test.each([
    ["no secret", null, /LONGHAND_WEBHOOK_SECRET is not set/],
    ["an empty secret", " ", /LONGHAND_WEBHOOK_SECRET is not set/],
    ["a passphrase for a secret", "correct horse", /LONGHAND_WEBHOOK_SECRET is not a webhook secret/],
    ["a short secret", "whsec_c2hvcnQ=", /LONGHAND_WEBHOOK_SECRET is not a webhook secret/],
  ])("with %s the door is closed, and says which setting opens it", async (_, secret, detail) => {
    const { channel, heard } = await listening({ secret });
    const answer = await channel.webhook?.(push(BODY));
    expect(answer?.status).toBe(403);
    expect(answer?.headers?.["content-type"]).toBe("application/problem+json");
    expect(JSON.parse(answer?.body ?? "")).toMatchObject({
      status: 403,
      detail: expect.stringMatching(detail),
    });
    expect(answer?.body).not.toContain("horse");
    expect(heard).toEqual([]);
  });

  test.each([
    ["without headers", (request: WebhookRequest) => ({ ...request, headers: {} })],
    [
      "with one byte changed",
      (request: WebhookRequest) => ({ ...request, body: Buffer.concat([request.body, Buffer.from(" ")]) }),
    ],
    [
      "under another id",
      (request: WebhookRequest) => ({ ...request, headers: { ...request.headers, "webhook-id": "x" } }),
    ],
    ["signed six minutes ago", () => push(BODY, { at: NOW - 6 * 60_000 })],
    ["signed six minutes ahead", () => push(BODY, { at: NOW + 6 * 60_000 })],
    ["signed with another secret", () => push(BODY, { secret: NEW_SECRET })],
  ])("%s it is refused before anything is parsed", async (_, change) => {
    const { channel, heard } = await listening();
    const answer = await channel.webhook?.(change(push(BODY)));
    expect(answer?.status).toBe(401);
    expect(answer?.body).not.toContain(SECRET.slice(6));
    expect(heard).toEqual([]);
  });

  test("a body that is no UTF-8 cannot borrow the signature of one that looks like it", async () => {
    const { channel } = await listening();
    const signed = push({ ...BODY, content: "\ufffd" });
    const bytes = Buffer.from(signed.body);
    const at = bytes.indexOf("\ufffd");
    const changed = Buffer.concat([bytes.subarray(0, at), Buffer.from([0xff]), bytes.subarray(at + 3)]);
    expect(changed.toString()).toBe(bytes.toString());
    expect((await channel.webhook?.({ ...signed, body: changed }))?.status).toBe(401);
  });

  test("a body that is no UTF-8 is not guessed at, though it is signed", async () => {
    const { channel, heard } = await listening();
    const body = Buffer.from(JSON.stringify({ ...BODY, content: "caf\u00e9" }), "latin1");
    const seconds = String(Math.floor(NOW / 1000));
    const keys = [Buffer.from(SECRET.slice(6), "base64")];
    const signature = signatureOf(keys, "msg_1", seconds, body);
    const headers = { "webhook-id": "msg_1", "webhook-timestamp": seconds, "webhook-signature": signature };
    expect((await channel.webhook?.({ method: "POST", headers, body, query: {} }))?.status).toBe(422);
    expect(heard).toEqual([]);
  });

  test("while keys are changed, the old and the new one both open the door", async () => {
    const { channel } = await listening({ secret: `${NEW_SECRET} ${SECRET}` });
    expect((await channel.webhook?.(push(BODY, { secret: SECRET })))?.status).toBe(202);
    expect((await channel.webhook?.(push(BODY, { secret: NEW_SECRET })))?.status).toBe(202);
    const { channel: single } = await listening();
    const both = push(BODY, { secret: NEW_SECRET });
    both.headers["webhook-signature"] += ` v2,xx ${push(BODY).headers["webhook-signature"]}`;
    expect((await single.webhook?.(both))?.status).toBe(202);
  });

  test.each<[string, string | object, string]>([
    ["no JSON", "{", ""],
    ["no object", "[]", ""],
    ["no place", { ...BODY, place: "" }, "place"],
    ["a place with a line break", { ...BODY, place: "a\nb" }, "place"],
    ["no content", { place: "kitchen", msg_metadata: METADATA }, "content"],
    ["empty content", { ...BODY, content: "" }, "content"],
    ["half a character", { ...BODY, content: "\ud800" }, "content"],
    ["no metadata", { place: "kitchen", content: "hi" }, "msg_metadata"],
    [
      "one of our own senders",
      { ...BODY, msg_metadata: { ...METADATA, sender_id: "host" } },
      "msg_metadata.sender_id",
    ],
    [
      "the terminal's sender",
      { ...BODY, msg_metadata: { ...METADATA, sender_id: "tui-user" } },
      "msg_metadata.sender_id",
    ],
    [
      "a sender of another platform",
      { ...BODY, msg_metadata: { ...METADATA, sender_id: "slack:U06STGBF4Q0" } },
      "msg_metadata.sender_id",
    ],
    [
      "a wrong type",
      { ...BODY, msg_metadata: { ...METADATA, is_from_me: "yes" } },
      "msg_metadata.is_from_me",
    ],
  ])("with %s it is told what is wrong and where", async (_, body, path) => {
    const { channel, heard } = await listening();
    const answer = await channel.webhook?.(push(body));
    expect(answer?.status).toBe(422);
    const { errors } = JSON.parse(answer?.body ?? "");
    expect(errors.map((error: { path: string }) => error.path)).toContain(path);
    expect(heard).toEqual([]);
  });

  test("more than a mebibyte is too much", async () => {
    const { channel, heard } = await listening();
    const answer = await channel.webhook?.(push({ ...BODY, content: "x".repeat(1024 * 1024 + 1) }));
    expect(answer?.status).toBe(413);
    expect(heard).toEqual([]);
  });

  test("data nested a hundred thousand deep is answered, not choked on", async () => {
    const { channel } = await listening();
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    const body = JSON.stringify(BODY).replace('"Olivia"', `"Olivia","deep":${deep}`);
    expect((await channel.webhook?.(push(body)))?.status).toBe(422);
  });

  test("an address without a chat is answered 200", async () => {
    const { channel } = await listening({}, { status: "unregistered" });
    const answer = await channel.webhook?.(push(BODY));
    expect(answer).toMatchObject({ status: 200, body: '{"status":"unregistered"}' });
  });

  test("what cannot be stored now is answered 503 with a time to come again", async () => {
    const { channel } = await listening(
      {},
      { status: "unavailable", why: "the disk is full", retryAfterS: 2.5 },
    );
    const answer = await channel.webhook?.(push(BODY));
    expect(answer).toMatchObject({ status: 503, headers: { "retry-after": "3" } });
    expect(JSON.parse(answer?.body ?? "")).toMatchObject({ detail: "the disk is full" });
  });

  test("before the start and after the stop it is asked to come again", async () => {
    const channel = webhook({ secret: SECRET, url: null, now: () => NOW });
    expect((await channel.webhook?.(push(BODY)))?.status).toBe(503);
    await channel.start({ receive: async () => STORED });
    expect((await channel.webhook?.(push(BODY)))?.status).toBe(202);
    await channel.stop();
    expect((await channel.webhook?.(push(BODY)))?.status).toBe(503);
  });

  test("anything but POST is not allowed", async () => {
    const { channel } = await listening();
    const answer = await channel.webhook?.({ ...push(BODY), method: "GET" });
    expect(answer).toMatchObject({ status: 405, headers: { allow: "POST" } });
  });
});

describe("a message goes out", () => {
  test("as a signed post that any Standard Webhooks library verifies", async () => {
    const got: { body: string; headers: Record<string, string> }[] = [];
    const url = await receiver(async (request, response) => {
      let body = "";
      for await (const chunk of request) body += chunk;
      got.push({ body, headers: request.headers as Record<string, string> });
      response.end();
    });
    const now = Date.now();
    const channel = webhook({ secret: `${NEW_SECRET} ${SECRET}`, url, now: () => now });
    const result = await channel.send("webhook:kit:chen", MESSAGE, sending({ thread: "t1" }));
    expect(result).toEqual({ ok: true, externalId: "delivery-1" });
    const [post] = got;
    for (const secret of [SECRET, NEW_SECRET]) {
      const verified = new Webhook(secret).verify(post?.body ?? "", post?.headers ?? {});
      expect(verified).toEqual({
        type: "message",
        timestamp: MESSAGE.timestamp,
        data: {
          place: "kit:chen",
          address: "webhook:kit:chen",
          thread_id: "t1",
          message_id: "m1",
          chat_jid: "home",
          sender: "home:olivia",
          sender_name: "Olivia",
          message_type: "user",
          text: "Olivia · Slack:  hi\n",
          content: " hi\n",
        },
      });
    }
    expect(post?.headers["webhook-id"]).toBe("delivery-1");
    expect(post?.headers["webhook-timestamp"]).toBe(String(Math.floor(now / 1000)));
  });

  test("the receiver's own id is taken, when it gives one", async () => {
    const answers = ['{"external_id":"ext-9"}', '{"external_id":9}', "thanks", "null", ""];
    const ids = [];
    for (const answer of answers) ids.push(await sendTo((_, response) => response.end(answer)));
    expect(ids.map((result) => result.ok && result.externalId)).toEqual([
      "ext-9",
      ...Array(4).fill("delivery-1"),
    ]);
  });

  test("an endless answer is not read to its end", async () => {
    let written = 0;
    const result = await sendTo((request, response) => {
      const more = () => {
        written += 16_384;
        if (!response.destroyed) response.write("x".repeat(16_384), () => setImmediate(more));
      };
      request.resume().on("end", more);
    });
    expect(result).toEqual({ ok: true, externalId: "delivery-1" });
    expect(written).toBeLessThan(64 * 1024 * 1024);
  });

  test.each([400, 401, 403, 404, 405, 410, 413, 415, 422])("%i: never again", async (status) => {
    const result = await sendTo((_, response) => response.writeHead(status).end());
    expect(result).toMatchObject({ ok: false, retryAfter: "never" });
  });

  test.each([408, 409, 425, 429, 500, 502, 503, 504])("%i: later, when it says", async (status) => {
    const result = await sendTo((_, response) => response.writeHead(status, { "retry-after": "42" }).end());
    expect(result).toMatchObject({ ok: false, retryAfter: 42_000 });
  });

  test.each([301, 302, 307, 308])("%i: the redirect is not followed", async (status) => {
    const followed: string[] = [];
    const elsewhere = await receiver((request, response) => {
      followed.push(request.url ?? "");
      response.end();
    });
    const result = await sendTo((_, response) => response.writeHead(status, { location: elsewhere }).end());
    expect(result).toMatchObject({
      ok: false,
      retryAfter: "never",
      why: expect.stringContaining("redirect"),
    });
    expect(followed).toEqual([]);
  });

  test("nobody listens: it certainly did not arrive, and is tried again", async () => {
    const server = createServer();
    const url = await listen(server);
    server.close();
    await once(server, "close");
    for (const host of ["127.0.0.1", "localhost"]) {
      const channel = webhook({ secret: SECRET, url: url.replace("127.0.0.1", host) });
      const result = await channel.send("webhook:a", MESSAGE, sending());
      expect(result).toMatchObject({
        ok: false,
        retryAfter: 1000,
        why: expect.stringContaining("ECONNREFUSED"),
      });
    }
  });

  test("no HTTP at the other end: it may have arrived", async () => {
    const server = createTcpServer((socket) => socket.end("what?\r\n\r\n"));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    open.add(server);
    const channel = webhook({
      secret: SECRET,
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    });
    expect(await channel.send("webhook:a", MESSAGE, sending())).toMatchObject({ retryAfter: "unknown" });
  });

  test("an answer that breaks off after saying 200 has said enough", async () => {
    const result = await sendTo((_, response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write("{", () => response.destroy());
    });
    expect(result).toEqual({ ok: true, externalId: "delivery-1" });
  });

  test.each<[string, Partial<WebhookSettings>, RegExp]>([
    ["no address is set", { url: null }, /LONGHAND_WEBHOOK_URL is not set/],
    ["the address is none", { url: "kitchen" }, /LONGHAND_WEBHOOK_URL is not a URL/],
    ["the address is a file", { url: "file:///etc/passwd" }, /LONGHAND_WEBHOOK_URL does not begin with http/],
    ["the address holds a password", { url: "http://u:pa55word@127.0.0.1/" }, /LONGHAND_WEBHOOK_URL holds/],
    ["the port is one that clients refuse", { url: "http://127.0.0.1:1/" }, /port/],
    ["no secret is set", { secret: null }, /LONGHAND_WEBHOOK_SECRET is not set/],
  ])("when %s, it says so and does not try again", async (_, settings, why) => {
    const channel = webhook({ secret: SECRET, url: "http://127.0.0.1:9999/", ...settings });
    const result = await channel.send("webhook:a", MESSAGE, sending());
    expect(result).toMatchObject({ ok: false, retryAfter: "never", why: expect.stringMatching(why) });
    expect(JSON.stringify(result)).not.toContain("pa55word");
  });

  test("another channel's address is refused", async () => {
    const channel = webhook({ secret: SECRET, url: "http://127.0.0.1:9999/" });
    for (const address of ["slack:C1", "webhook", "webhook:", "webhooks:a"]) {
      expect(await channel.send(address, MESSAGE, sending())).toMatchObject({ retryAfter: "never" });
    }
  });

  test("a key that could break out of its header is refused", async () => {
    const channel = webhook({ secret: SECRET, url: "http://127.0.0.1:9999/" });
    const result = await channel.send("webhook:a", MESSAGE, sending({ key: "a\r\nx: y" }));
    expect(result).toMatchObject({ ok: false, retryAfter: "never" });
  });
});

const MESSAGE: OutgoingMessage = {
  message_id: "m1",
  chat_jid: "home",
  sender: "home:olivia",
  sender_name: "Olivia",
  message_type: "user",
  text: "Olivia · Slack:  hi\n",
  content: " hi\n",
  timestamp: "2026-03-04T05:06:07.890Z",
};
const STORED: Extract<Received, { status: "stored" }> = {
  status: "stored",
  answer: {
    message_id: "m1",
    chat_jid: "home",
    seq: 1,
    duplicate: false,
    admission: "run",
    reason: "always",
  },
};

async function listening(settings: Partial<WebhookSettings> = {}, received: Received = STORED) {
  const heard: InboundMessage[] = [];
  const gate: Gate = {
    receive: async (message) => {
      heard.push(message);
      return received;
    },
  };
  const channel = webhook({ secret: SECRET, url: null, now: () => NOW, ...settings });
  await channel.start(gate);
  return { channel, heard };
}

/** A push, signed by the standard's own library at a time we choose. */
function push(body: unknown, { secret = SECRET, at = NOW } = {}): WebhookRequest {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const headers: Record<string, string | undefined> = {
    "webhook-id": "msg_1",
    "webhook-timestamp": String(Math.floor(at / 1000)),
    "webhook-signature": new Webhook(secret).sign("msg_1", new Date(at), text),
  };
  return { method: "POST", headers, body: Buffer.from(text), query: {} };
}

function sending(more: Partial<{ key: string; thread: string }> = {}) {
  return { key: "delivery-1", thread: null, signal: new AbortController().signal, ...more };
}

async function sendTo(listener: RequestListener) {
  const channel = webhook({ secret: SECRET, url: await receiver(listener), now: () => NOW });
  return channel.send("webhook:kitchen", MESSAGE, sending());
}

async function receiver(listener: RequestListener): Promise<string> {
  return listen(createServer(listener));
}

async function listen(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  open.add({
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
