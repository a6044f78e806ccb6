import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Webhook } from "standardwebhooks";
import { describe, expect, test } from "vitest";
import type { Channel, Gate, SendResult } from "./channel.js";
import {
  type Acknowledgement,
  type Attempt,
  type ChannelUnderTest,
  channelContract,
  type Failure,
  type FakePlatform,
  type Said,
  type Shown,
} from "./contract.js";
import { webhook } from "./webhook.js";

const SECRET = `whsec_${Buffer.from("a key of thirty-two bytes, right").toString("base64")}`;
const OTHER_SECRET = `whsec_${Buffer.from("another of thirty-two bytes, yes").toString("base64")}`;

describe("the webhook keeps the contract of channels", () => {
  for (const { name, run } of channelContract(() => webhookUnderTest())) {
    test(name, async ({ skip }) => {
      const { skipped } = await run();
      if (skipped) skip(skipped);
    });
  }
});

describe("the contract finds out a channel that", () => {
  const faults: [does: string, found: string, fault: (inner: Channel) => Channel][] = [
    [
      "trims what was typed",
      "every character arrives as it was typed",
      hearing((gate, message) => gate.receive({ ...message, content: message.content.trim() })),
    ],
    [
      "cuts long text",
      "a mebibyte of text arrives whole",
      hearing((gate, message) => gate.receive({ ...message, content: message.content.slice(0, 100_000) })),
    ],
    [
      "hears everything at one address",
      "a message says who spoke, where and by which channel",
      hearing((gate, message) => gate.receive({ ...message, address: "webhook:elsewhere" })),
    ],
    [
      "makes up ids",
      "a redelivery can be told by its ids",
      hearing((gate, message) =>
        gate.receive({
          ...message,
          msg_metadata: { ...message.msg_metadata, external_message_id: `${Math.random()}` },
        }),
      ),
    ],
    [
      "forgets the thread",
      "a message in a thread says which",
      hearing((gate, message) =>
        gate.receive({ ...message, msg_metadata: { ...message.msg_metadata, thread_id: null } }),
      ),
    ],
    [
      "answers before the message is durable",
      "the platform is answered only once the message is durable",
      hearing(async (gate, message) => {
        gate.receive(message).catch(() => undefined);
        return STORED;
      }),
    ],
    [
      "takes messages in any order",
      "messages keep their order",
      hearing(async (gate, message) => {
        setTimeout(() => gate.receive(message), message.content.endsWith("0") ? 20 : 0);
        return STORED;
      }),
    ],
    [
      "remembers a push that was not stored",
      "what could not be stored is pushed again, and taken then",
      remembering,
    ],
    [
      "calls every push a success",
      "a gate that breaks is no end of the channel",
      (inner) => ({
        ...inner,
        webhook: async (request) =>
          (await inner.webhook?.(request).catch(() => ({ status: 200 }))) ?? { status: 200 },
      }),
    ],
    [
      "turns unregistered addresses away",
      "an unregistered address is accepted, so that nobody retries for days",
      answering((status) => (status === 200 ? 503 : status)),
    ],
    [
      "asks again for what can never be taken",
      "a message that can never be taken is not asked for again",
      answering((status) => (status === 422 ? 500 : status)),
    ],
    [
      "hears first and verifies later",
      "a push with a wrong signature never reaches the gate",
      hearingUnverified,
    ],
    [
      "goes on after its stop",
      "a stopped channel takes nothing more",
      (inner) => ({ ...inner, stop: async () => undefined }),
    ],
    [
      "stops in the middle of storing",
      "a stop waits for what is being stored",
      (inner) => ({
        ...inner,
        stop: async () => void inner.stop(),
      }),
    ],
    [
      "tidies its answers",
      "a message is shown word for word, and its id comes back",
      (inner) => ({
        ...inner,
        send: (address, message, options) =>
          inner.send(address, { ...message, text: message.text.replace(/\s+/g, " ") }, options),
      }),
    ],
    [
      "answers outside the thread",
      "an answer goes to the thread it belongs to",
      (inner) => ({
        ...inner,
        send: (address, message, options) => inner.send(address, message, { ...options, thread: null }),
      }),
    ],
    [
      "ignores how long to wait",
      "too many at once: told how long to wait",
      failingAs((failure) => ({ ...failure, retryAfter: 1 })),
    ],
    [
      "gives up at the platform's trouble",
      "the platform's own trouble: tried again later",
      failingAs((failure) => ({ ...failure, retryAfter: "never" })),
    ],
    [
      "never gives up",
      "refused for good: never tried again",
      failingAs((failure) => ({ ...failure, retryAfter: 1 })),
    ],
    [
      "takes a hang-up for a failure",
      "cut off after it was taken: unknown, neither sent nor failed",
      failingAs((failure) => ({ ...failure, retryAfter: 1 })),
    ],
    [
      "takes silence for success",
      "no answer at all: unknown as soon as patience ends",
      failingAs(() => ({ ok: true, externalId: null })),
    ],
    [
      "tells its secret",
      "the platform's own trouble: tried again later",
      failingAs((failure) => ({ ...failure, why: `could not post with ${SECRET}` })),
    ],
    [
      "makes a new key for every try",
      "every try of one delivery carries the same key",
      (inner) => ({
        ...inner,
        send: (address, message, options) =>
          inner.send(address, message, { ...options, key: `${Math.random()}` }),
      }),
    ],
    [
      "says it takes keys and does not",
      "sent again after a hang-up, it is shown once",
      (inner) => ({
        ...inner,
        send: (address, message, options) =>
          inner.send(address, message, { ...options, key: `${Math.random()}` }),
      }),
    ],
    [
      "claims to find what was never sent",
      "a send we are unsure of can be found by its key",
      (inner) => ({
        ...inner,
        find: async () => ({ externalId: "key-1" }),
      }),
    ],
    [
      "says it can edit and posts anew",
      "an edit changes the message that was sent",
      (inner) => ({
        ...inner,
        edit: (address, _externalId, message, options) => inner.send(address, message, options),
      }),
    ],
    [
      "says it can remove and does nothing",
      "a removal takes the message away",
      (inner) => ({
        ...inner,
        remove: async (_address, externalId) => ({ ok: true, externalId }),
      }),
    ],
    [
      "sends what was given up",
      "what was given up before it began is not sent",
      (inner) => ({
        ...inner,
        send: (address, message, options) =>
          inner.send(address, message, { ...options, signal: new AbortController().signal }),
      }),
    ],
    [
      "lets a message overtake another",
      "messages are shown in the order they were sent",
      (inner) => ({
        ...inner,
        send: async (address, message, options) => {
          if (!message.text.endsWith("3")) return inner.send(address, message, options);
          setTimeout(() => inner.send(address, message, options), 10);
          return { ok: true, externalId: null };
        },
      }),
    ],
    [
      "sends on after its stop",
      "a stopped channel sends nothing, and gives up what is under way",
      (inner) => ({
        ...inner,
        stop: async () => {
          await inner.stop();
          await inner.start({ receive: async () => STORED });
        },
      }),
    ],
    [
      "promises more length than it shows",
      "a text as long as the limit says is shown in one piece",
      (inner) => ({
        ...inner,
        limits: { textLength: 50 },
        send: (address, message, options) =>
          inner.send(address, { ...message, text: message.text.slice(0, 40) }, options),
      }),
    ],
  ];

  for (const [does, found, fault] of faults) {
    test(does, async () => {
      const broken = channelContract(() => webhookUnderTest(fault)).find(({ name }) => name === found);
      expect(broken, found).toBeDefined();
      await expect(broken?.run()).rejects.toMatchObject({ name: "AssertionError" });
    });
  }
});

type Fault = (inner: Channel) => Channel;
type Receive = Gate["receive"];
const STORED: Awaited<ReturnType<Receive>> = {
  status: "stored",
  answer: { message_id: "m", chat_jid: "chat", seq: 1, duplicate: false, admission: "run", reason: "always" },
};

function hearing(hear: (gate: Gate, ...heard: Parameters<Receive>) => ReturnType<Receive>): Fault {
  return (inner) => ({
    ...inner,
    start: (gate) => inner.start({ receive: (message) => hear(gate, message) }),
  });
}

function remembering(inner: Channel): Channel {
  const seen = new Set<unknown>();
  return hearing(async (gate, message) => {
    const id = message.msg_metadata.external_message_id;
    if (seen.has(id)) return STORED;
    seen.add(id);
    return gate.receive(message);
  })(inner);
}

function answering(change: (status: number) => number): Fault {
  return (inner) => ({
    ...inner,
    webhook: async (request) => {
      const answer = await inner.webhook?.(request);
      return { ...answer, status: change(answer?.status ?? 500) };
    },
  });
}

function hearingUnverified(inner: Channel): Channel {
  let gate: Gate | null = null;
  return {
    ...inner,
    start: (given) => {
      gate = given;
      return inner.start(given);
    },
    webhook: async (request) => {
      const metadata = {
        source: "webhook",
        sender_id: "a:b",
        sender_display_name: "A",
        sender_type: "human" as const,
      };
      await gate?.receive({ address: "webhook:kitchen", content: "early", msg_metadata: metadata });
      return (await inner.webhook?.(request)) ?? { status: 500 };
    },
  };
}

function failingAs(change: (failure: Extract<SendResult, { ok: false }>) => SendResult): Fault {
  return (inner) => ({
    ...inner,
    send: async (address, message, options) => {
      const result = await inner.send(address, message, options);
      return result.ok ? result : change(result);
    },
  });
}

/** The webhook channel between two real servers: ours, which takes its pushes, and the one it posts to. */
async function webhookUnderTest(fault: Fault = (inner) => inner): Promise<ChannelUnderTest> {
  const receiver = fakeReceiver();
  const url = `${await listen(receiver.server)}/a-secret-path?token=a-secret-token`;
  const channel = fault(webhook({ secret: SECRET, url }));
  const door = createServer((request, response) => pass(channel, request, response));
  const doorUrl = await listen(door);
  const push = (said: Said, secret: string) => pushTo(doorUrl, said, secret);
  const platform: FakePlatform = {
    ...receiver.platform,
    deliver: (said) => push(said, SECRET),
    forge: (said) => push(said, OTHER_SECRET),
  };
  return {
    channel,
    platform,
    address: "webhook:kitchen",
    secrets: [SECRET, SECRET.slice(6), "a-secret-path", "a-secret-token"],
    dispose: async () => {
      for (const server of [receiver.server, door]) {
        server.close();
        server.closeAllConnections();
      }
    },
  };
}

async function listen(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return `http://127.0.0.1:${port}`;
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function pass(channel: Channel, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
  );
  const body = await bodyOf(request);
  try {
    const answer = await channel.webhook?.({ method: request.method ?? "", headers, body, query: {} });
    response.writeHead(answer?.status ?? 404, answer?.headers).end(answer?.body);
  } catch {
    response.writeHead(500).end();
  }
}

/** Signs as the standard's own library does. */
async function pushTo(url: string, said: Said, secret: string): Promise<Acknowledgement> {
  const body = JSON.stringify({
    place: "kitchen",
    content: said.text,
    msg_metadata: {
      sender_id: "home:olivia",
      sender_display_name: "Olivia",
      sender_type: "human",
      thread_id: said.thread,
    },
  });
  const at = new Date();
  const headers = {
    "webhook-id": said.id,
    "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
    "webhook-signature": new Webhook(secret).sign(said.id, at, body),
  };
  const { status } = await fetch(url, { method: "POST", headers, body });
  if (status >= 200 && status < 300) return "accepted";
  return status >= 500 || status === 429 ? "retry" : "refused";
}

/** A program that takes our posts: verifies them, drops ids it has seen, and fails on demand. */
function fakeReceiver() {
  const attempts: Attempt[] = [];
  const shown = new Map<string, Shown>();
  let failure: Failure | null = null;

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = (await bodyOf(request)).toString();
    const key = String(request.headers["webhook-id"]);
    const { data } = new Webhook(SECRET).verify(body, request.headers as Record<string, string>) as Posted;
    attempts.push({ key, text: data.text, thread: data.thread_id });
    const now = failure;
    failure = null;
    if (now === null || now.kind === "hang_up") {
      shown.set(key, { externalId: key, text: data.text, thread: data.thread_id });
    }
    answerWith(now, response);
  }

  const platform = {
    threads: true,
    failNext: (next: Failure) => {
      failure = next;
    },
    attempts: () => attempts,
    shown: () => [...shown.values()],
  };
  const server = createServer((request, response) => {
    take(request, response).catch(() => response.writeHead(401).end());
  });
  return { platform, server };
}

type Posted = { data: { text: string; thread_id: string | null } };

function answerWith(failure: Failure | null, response: ServerResponse): void {
  switch (failure?.kind) {
    case undefined:
      response.writeHead(204).end();
      return;
    case "too_many":
      response.writeHead(429, { "retry-after": String(failure.retryAfterS) }).end();
      return;
    case "server_error":
      response.writeHead(500).end();
      return;
    case "rejected":
      response.writeHead(400).end();
      return;
    case "hang_up":
      response.socket?.destroy();
      return;
    case "silence":
      return;
  }
}
