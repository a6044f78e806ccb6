import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServerProcess } from "../../testing/serverProcess.js";
import { FrameReader } from "../client/sse.js";

type SeenEvent = { id: string | null; event: string; data: Record<string, unknown> };

/** A stream the server has opened: everything from now on is on it. */
async function openStream(url: string, token: string, lastId: string | null = null) {
  const cut = new AbortController();
  const response = await fetch(url, {
    headers: { authorization: `Bearer ${token}`, ...(lastId === null ? {} : { "last-event-id": lastId }) },
    signal: cut.signal,
  });
  if (response.status !== 200) throw new Error(`no stream: ${response.status} ${await response.text()}`);
  return { response, cut };
}

/** Reads server-sent events until told to stop; gives what was complete by then. */
async function readOn(
  { response, cut }: Awaited<ReturnType<typeof openStream>>,
  until: (seen: SeenEvent[]) => boolean,
  maxBytes = Number.POSITIVE_INFINITY,
) {
  const seen: SeenEvent[] = [];
  let text = "";
  let bytes = 0;
  const decoder = new TextDecoder();
  try {
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      const piece = chunk.subarray(0, Math.max(0, maxBytes - bytes));
      bytes += piece.length;
      text += decoder.decode(piece, { stream: true });
      for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
        const lines = text.slice(0, end).split("\n");
        text = text.slice(end + 2);
        const field = (name: string) =>
          lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2) ?? null;
        const data = field("data");
        if (data !== null)
          seen.push({ id: field("id"), event: field("event") ?? "", data: JSON.parse(data) });
      }
      if (bytes >= maxBytes || until(seen)) break;
    }
  } finally {
    cut.abort();
  }
  return seen;
}

async function readStream(
  url: string,
  token: string,
  lastId: string | null,
  until: (seen: SeenEvent[]) => boolean,
  maxBytes = Number.POSITIVE_INFINITY,
) {
  return readOn(await openStream(url, token, lastId), until, maxBytes);
}

describe("an event stream", () => {
  let server: ServerProcess;
  beforeAll(async () => {
    server = await ServerProcess.start();
    await server.ask("POST", "/v1/chats", { jid: "busy" });
    await server.ask("POST", "/v1/chats", { jid: "noise" });
  });
  afterAll(() => server.dispose());

  it("misses and repeats nothing when it is cut at any byte and resumed, while others write", async () => {
    const MESSAGES = 600;
    const url = `${server.baseUrl}/v1/events?chat=busy`;
    const start = await readStream(
      `${server.baseUrl}/v1/events?after=0`,
      server.token,
      null,
      (seen) => seen.length > 0,
    );
    let last = start.at(-1)?.id ?? null;
    const got: string[] = [];
    const writing = (async () => {
      for (let number = 0; number < MESSAGES; number += 20) {
        await Promise.all(
          Array.from({ length: 20 }, (_, index) =>
            Promise.all([
              server.submit("busy", `m${number + index}`),
              server.submit("noise", `n${number + index}`),
            ]),
          ),
        );
      }
    })();
    let connections = 0;
    for (let cut = 1; got.length < MESSAGES; cut = (cut * 7919) % 20011) {
      connections++;
      const seen = await readStream(
        url,
        server.token,
        last,
        (events) => got.length + events.filter(isMessage).length >= MESSAGES,
        200 + cut,
      );
      got.push(
        ...seen.filter(isMessage).map((event) => String((event.data.message as { content: string }).content)),
      );
      last = seen.findLast((event) => event.id !== null)?.id ?? last;
    }
    await writing;
    expect(new Set(got).size).toBe(MESSAGES);
    expect(got).toHaveLength(MESSAGES);
    const order = (await server.messages("busy")).map((row) => row.content);
    expect(got).toEqual(order);
    console.log(`${connections} connections, ${got.length} messages, none missed, none repeated`);
  }, 120_000);

  it("starts now unless told otherwise, and from the beginning when asked", async () => {
    const all = await readStream(
      `${server.baseUrl}/v1/events?after=0&chat=noise`,
      server.token,
      null,
      (seen) => seen.filter(isMessage).length >= 600,
    );
    expect(all.filter(isMessage)).toHaveLength(600);
    const listening = await openStream(`${server.baseUrl}/v1/events?chat=noise`, server.token);
    await server.submit("noise", "fresh");
    const fresh = (await readOn(listening, (seen) => seen.some(isMessage))).filter(isMessage);
    expect(fresh.map((event) => (event.data.message as { content: string }).content)).toEqual(["fresh"]);
  });

  it("has nothing missing when it is cut before its first event", async () => {
    const url = `${server.baseUrl}/v1/events?chat=noise`;
    const { response, cut } = await openStream(url, server.token);
    const reader = new FrameReader();
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      reader.read(chunk);
      if (reader.lastId !== "") break;
    }
    cut.abort();
    await server.submit("noise", "said while the line was down");
    const seen = await readStream(url, server.token, reader.lastId, (events) => events.some(isMessage));
    expect(seen.find(isMessage)?.data.message).toMatchObject({ content: "said while the line was down" });
  });

  it("shows a turn from its start to its end, and to a late reader what was said so far", async () => {
    await server.down("SIGTERM");
    await server.up({ LONGHAND_DEMO_DELAY_MS: "30" });
    const url = `${server.baseUrl}/v1/events?chat=home`;
    const ended = (seen: SeenEvent[]) => seen.some((event) => event.event === "turn.ended");
    const listening = await openStream(url, server.token);
    const { body } = await server.submit("home", "tell me something");
    let spoke = () => {};
    const someWords = new Promise<void>((resolve) => {
      spoke = resolve;
    });
    const early = readOn(listening, (events) => {
      if (events.filter(isText).length >= 3) spoke();
      return ended(events);
    });
    await someWords;
    const late = await readStream(url, server.token, null, ended);
    const seen = await early;
    const types = seen.map((event) => event.event);
    expect(types.slice(0, 2)).toEqual(["message", "turn.started"]);
    for (const type of ["turn.delta", "turn.ended", "outcome"]) expect(types).toContain(type);
    expect(seen.filter((event) => event.event === "turn.delta").every((event) => event.id === null)).toBe(
      true,
    );
    const outcome = seen.find(
      (event) => event.event === "outcome" && event.data.message_id === body.message_id,
    );
    expect(outcome?.data.outcome).toMatchObject({ outcome: "answered" });
    const texts = (events: SeenEvent[], callId: unknown) =>
      events
        .filter((event) => isText(event) && event.data.call_id === callId)
        .map((event) => event.data.delta)
        .join("");
    expect(late[0]?.event).toBe("turn.snapshot");
    const snapshot = late[0]?.data as { call_id: string; parts: { type: string; content: string }[] };
    const before = snapshot.parts
      .filter((part) => part.type === "text")
      .map((part) => part.content)
      .join("");
    expect(before).not.toBe("");
    expect(before + texts(late, snapshot.call_id)).toBe(texts(seen, snapshot.call_id));
  }, 60_000);

  it("brings a reader up to date however much there is to read, and however large one message is", async () => {
    await server.ask("POST", "/v1/chats", { jid: "heavy" });
    const words = (seen: SeenEvent[]) =>
      seen.filter(isMessage).map((event) => String((event.data.message as { content: string }).content));
    const url = `${server.baseUrl}/v1/events?chat=heavy`;
    for (let number = 0; number < 300; number += 20)
      await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          server.submit("heavy", `${number + index} ${"x".repeat(45_000)}`),
        ),
      );
    // A control character is six bytes of JSON: this one message is larger than what a reader may be behind.
    const { status } = await server.submit("heavy", "\u0001".repeat(1024 * 1024));
    expect(status).toBe(202);
    await server.submit("heavy", "last");
    const got = await readStream(
      `${url}&after=0`,
      server.token,
      null,
      (seen) => words(seen).at(-1) === "last",
    );
    const stored = (await server.messages("heavy")).map((row) => row.content);
    expect(words(got).map((text) => text.length)).toEqual(stored.map((text) => String(text).length));
    expect(words(got)).toEqual(stored);
  }, 60_000);

  it("refuses a cursor that is none", async () => {
    const { status, body } = await server.ask("GET", "/v1/events?after=yesterday");
    expect(status).toBe(422);
    expect(body.errors).toMatchObject([{ path: "after" }]);
  });
});

function isMessage(event: SeenEvent): boolean {
  return event.event === "message";
}

function isText(event: SeenEvent): boolean {
  return event.event === "turn.delta" && event.data.kind === "text";
}
