import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServerProcess, spoken } from "../../testing/serverProcess.js";

describe("the same platform message", () => {
  let server: ServerProcess;
  beforeAll(async () => {
    server = await ServerProcess.start();
    await server.ask("POST", "/v1/chats", { jid: "other", trigger: "always" });
  });
  afterAll(() => server.dispose());

  const told = async (chat: string, sender: string) =>
    (await server.messages(chat)).filter((row) => row.sender === sender);

  for (const channel of ["C06RY3YBSLE", undefined]) {
    it(`is stored and answered once, however often and whenever it comes (channel ${channel})`, async () => {
      const text = `only once in ${channel}`;
      const where = channel === undefined ? {} : { channel_external_id: channel };
      const metadata = { external_message_id: `1700000000.${channel}`, ...where };
      const answersBefore = (await told("home", "bot")).length;
      const answers = await Promise.all(
        Array.from({ length: 10 }, () => server.submit("home", text, metadata)),
      );
      expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(202));
      expect(answers.filter(({ body }) => body.duplicate === false)).toHaveLength(1);
      expect(new Set(answers.map(({ body }) => body.message_id)).size).toBe(1);
      const id = answers[0]?.body.message_id;
      await server.outcome("home", id);

      await server.down("SIGKILL");
      await server.up();
      const again = await server.submit("home", "another text", metadata);
      expect(again.body).toMatchObject({
        message_id: id,
        duplicate: true,
        admission: "run",
        seq: answers[0]?.body.seq,
      });
      expect((await told("home", "slack:U06STGBF4Q0")).filter((row) => row.content === text)).toHaveLength(1);
      expect(await told("home", "bot")).toHaveLength(answersBefore + 1);

      const elsewhere = await server.submit("other", text, metadata);
      expect(elsewhere.body.duplicate).toBe(false);
    });
  }

  it("is the same whether its channel is left out or null", async () => {
    const one = await server.submit("other", "x", { external_message_id: "absent-1" });
    const two = await server.submit("other", "x", {
      external_message_id: "absent-1",
      channel_external_id: null,
    });
    const three = await server.submit("other", "x", {
      external_message_id: "absent-1",
      channel_external_id: "C1",
    });
    expect([one, two, three].map(({ body }) => body.duplicate)).toEqual([false, true, false]);
  });

  it("may be named by the sender's own id, or by an idempotency key", async () => {
    const named = await server.submit("other", "named", {}, { message_id: "my-id-1" });
    expect(named.body).toMatchObject({ message_id: "my-id-1", duplicate: false });
    expect((await server.submit("other", "named again", {}, { message_id: "my-id-1" })).body).toMatchObject({
      message_id: "my-id-1",
      duplicate: true,
    });
    const send = (content: string) =>
      server.ask(
        "POST",
        "/v1/chats/other/submit",
        { content, msg_metadata: spoken() },
        { "idempotency-key": "k-1" },
      );
    const [one, two] = [await send("keyed"), await send("keyed")];
    expect(two.body).toMatchObject({ message_id: one.body.message_id, duplicate: true });
    expect((await send("something else")).status).toBe(409);
  });

  it("is not confused with another: two people, one text, one second", async () => {
    const timestamp = "2026-01-01T00:00:00.000Z";
    const say = (sender_id: string) => server.submit("other", "same words", { sender_id }, { timestamp });
    const [a, b] = await Promise.all([say("slack:UA"), say("slack:UB")]);
    expect(a.body.message_id).not.toBe(b.body.message_id);
  });
});

describe("order", () => {
  let server: ServerProcess;
  beforeAll(async () => {
    server = await ServerProcess.start();
    await server.ask("POST", "/v1/chats", { jid: "clocks" });
  });
  afterAll(() => server.dispose());

  it("is the order of acceptance, whatever anybody's clock says; nothing is hidden", async () => {
    const stamps = [
      "2026-06-01T00:00:00Z",
      "2026-06-01T00:00:00Z",
      "1970-01-01T00:00:00Z",
      "9999-12-31T23:59:59Z",
      "2026-06-01T02:00:00+02:00",
    ];
    for (const [index, timestamp] of stamps.entries()) {
      const { body, status } = await server.submit("clocks", `number ${index}`, {}, { timestamp });
      expect([status, body.seq]).toEqual([202, index + 1]);
    }
    const many = await Promise.all(
      Array.from({ length: 100 }, (_, index) => server.submit("clocks", `parallel ${index}`)),
    );
    expect(new Set(many.map(({ body }) => body.seq)).size).toBe(100);
    const rows = await server.messages("clocks");
    expect(rows.map((row) => row.seq)).toEqual(Array.from({ length: 105 }, (_, index) => index + 1));
    expect(rows[4]?.timestamp).toBe("2026-06-01T00:00:00.000Z");
  });
});
