import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { assistantOfRows, CallEnvelope, MessageRow } from "../../message/index.js";
import { openSqlite } from "../../store/sqlite.js";
import { ServerProcess } from "../../testing/serverProcess.js";

describe("a first conversation", () => {
  let server: ServerProcess;
  beforeAll(async () => {
    server = await ServerProcess.start();
  });
  afterAll(() => server.dispose());

  it("reads in the database like the conversation it was, and gives its answers back whole", async () => {
    const { body } = await server.submit("home", "What time is it?");
    expect(body).toMatchObject({ duplicate: false, admission: "run", reason: "always" });
    expect((await server.outcome("home", body.message_id)).outcome).toBe("answered");
    await server.down("SIGTERM");

    const store = await openSqlite({ path: server.database });
    const rows = await store.read.messages({
      chat_jid: "home",
      after_seq: 0,
      before_seq: null,
      limit: 100,
      message_type: null,
      sender: null,
    });
    const calls = await store.read.calls({ chat_jid: "home", turn_id: null, after: null, limit: 10 });
    const answers = await store.read.callParts(calls.map((call) => call.id));
    await store.close();
    expect(rows.map((row) => [row.seq, row.sender, row.message_type])).toEqual([
      [1, "slack:U06STGBF4Q0", "user"],
      [2, "thinking", "assistant"],
      [3, "tool_use", "assistant"],
      [4, "tool_result", "tool_result"],
      [5, "thinking", "assistant"],
      [6, "bot", "assistant"],
      [7, "result_meta", "host"],
    ]);
    const [first, second] = answers.map(({ call, leftovers }) => assistantOfRows(rows, call, leftovers));
    expect(first?.contents.map((content) => content.type)).toEqual(["thinking", "tool_call"]);
    expect(first?.contents[0]).toMatchObject({ signature: expect.stringMatching(/.{10,}/) });
    expect(second).toMatchObject({ stopReason: "stop", provider: "demo", model: "demo" });
    await server.up();
  });

  it("is told as the API promises: every field of messages, calls and outcomes", async () => {
    const messages = await server.messages("home");
    for (const row of messages) expect(MessageRow.safeParse(row).success).toBe(true);
    const asked = messages[0] as MessageRow;
    const outcome = await server.outcome("home", asked.id);
    expect(outcome).toMatchObject({ message_id: asked.id, outcome: "answered", deliveries: [] });
    const { body } = await server.ask("GET", "/v1/chats/home/calls");
    for (const call of body.calls as unknown[]) expect(CallEnvelope.safeParse(call).success).toBe(true);
    expect(outcome.call_ids).toEqual((body.calls as CallEnvelope[]).map((call) => call.id));
  });

  it("shows what the model was sent, block by block, adding up to the exact bytes", async () => {
    const { body: list } = await server.ask("GET", "/v1/chats/home/calls");
    for (const { id } of list.calls as { id: string }[]) {
      const { body: call } = await server.ask("GET", `/v1/calls/${id}`);
      const request = await fetch(`${server.baseUrl}/v1/calls/${id}/request`, {
        headers: { authorization: `Bearer ${server.token}` },
      });
      const bytes = new Uint8Array(await request.arrayBuffer());
      const blocks = call.blocks as { size: number; kind: string; sources: { type: string; id: string }[] }[];
      expect(blocks.reduce((sum, block) => sum + block.size, 0)).toBe(bytes.length);
      expect(call.request_size).toBe(bytes.length);
      expect(
        blocks.filter((block) => block.kind === "message").every((block) => block.sources.length > 0),
      ).toBe(true);
      expect(JSON.parse(new TextDecoder().decode(bytes)).model).toBe("demo");
    }
  });
});
