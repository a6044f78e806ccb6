import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openSqlite } from "../../store/sqlite.js";
import { ServerProcess } from "../../testing/serverProcess.js";
import { ApiProblem, type Client, createClient } from "../client/index.js";
import { callRoutes } from "../server/routes/calls.js";

describe("calls, compared and replayed over HTTP", () => {
  let server: ServerProcess;
  let client: Client;
  beforeAll(async () => {
    server = await ServerProcess.start({ LONGHAND_RECEIPT_DAYS: "30", LONGHAND_RECEIPT_BYTES: "1GB" });
    client = createClient({ baseUrl: server.baseUrl, token: server.token });
    await say("one");
    await client.changeChat("home", { system_prompt: "Be kind." });
    await say("two");
  });
  afterAll(() => server.dispose());

  async function say(words: string): Promise<void> {
    const { body } = await server.submit("home", words);
    await server.outcome("home", String(body.message_id));
  }

  async function calls(): Promise<string[]> {
    return (await client.calls("home", { limit: 500 })).calls.map(({ id }) => id);
  }

  /** What an answer holds is what the API says it holds. */
  function asDeclared(path: string, body: unknown): void {
    expect(callRoutes.find((route) => route.path === path)?.answers.schema?.parse(body)).toEqual(body);
  }

  async function problem(asking: Promise<unknown>): Promise<[number, string]> {
    const error = await asking.then(
      () => null,
      (thrown: unknown) => thrown,
    );
    return error instanceof ApiProblem ? [error.status, error.detail] : [0, String(error)];
  }

  it("two calls: the first break, why, and what it cost", async () => {
    const [a = "", b = ""] = [(await calls()).at(0), (await calls()).at(-1)];
    const diff = await client.diff(a, b);
    asDeclared("/v1/calls/:a/diff/:b", diff);
    expect(diff.first.b).toMatchObject({ kind: "system", text: "Be kind." });
    expect(diff.breaks[0]?.reason).toContain("the system prompt changed");
    expect(diff.cache.estimated.lost_tokens).toBeGreaterThan(0);
    expect(await problem(client.diff(a, "nobody"))).toEqual([404, "There is no call nobody."]);
  });

  it("a call once more: the same bytes, another answer, and nothing in the chat", async () => {
    const before = await client.messages("home", { limit: 500 });
    const [a = ""] = await calls();
    const made = await client.replay(a);
    asDeclared("/v1/calls/:id/replay", made);
    expect(made.context).toEqual({ exact: true, differences: [] });
    expect(made.replay.answer?.tool_calls).toEqual([{ name: "clock", args: {} }]);
    expect(made.notes.join(" ")).toContain("They were not run");
    expect(await client.requestBytes(made.replay.call.id)).toEqual(await client.requestBytes(a));
    expect(await client.messages("home", { limit: 500 })).toEqual(before);
    const [status, detail] = await problem(client.replay(a, "nobody/knows"));
    expect(status).toBe(422);
    expect(detail).toMatch(/^model: there is no provider "nobody": type one such as/);
    expect((await problem(client.replay("nothing")))[0]).toBe(404);
    expect((await server.ask("POST", `/v1/calls/${a}/replay`, { modell: "x" })).status).toBe(422);
    const reader = await client.newToken({ name: "reader", scopes: ["read"] });
    const reading = createClient({ baseUrl: server.baseUrl, token: reader.token });
    expect((await problem(reading.replay(a)))[0]).toBe(403);
    expect((await reading.diff(a, a)).changes).toEqual([]);
  });

  it("a request that is kept no longer is told with when and why, and what it used stays", async () => {
    const [a = "", b = ""] = await calls();
    await server.down("SIGTERM");
    const store = await openSqlite({ path: server.database });
    const fact = { type: "receipts_expired", chat_jid: "home", at: "2026-12-24T12:00:00.000Z" } as const;
    await store.commit({ facts: [{ ...fact, call_ids: [a], reason: "requests are kept for 30 days" }] });
    await store.close();
    await server.up();
    client = createClient({ baseUrl: server.baseUrl, token: server.token });
    const receipt = await client.call(a);
    asDeclared("/v1/calls/:id", receipt);
    expect(receipt).toMatchObject({ blocks: [], usage: { input_tokens: expect.any(Number) } });
    const gone = `The request of call ${a} is kept no longer since 2026-12-24T12:00:00.000Z: requests are kept for 30 days.`;
    for (const asking of [client.requestBytes(a), client.diff(a, b), client.diff(b, a), client.replay(a)]) {
      expect(await problem(asking)).toEqual([410, gone]);
    }
    expect((await client.requestBytes(b)).length).toBe((await client.call(b)).request_size);
    await say("three");
    expect((await client.call((await calls()).at(-1) ?? "")).status).toBe("ok");
  });

  it("settings that cannot be right are said by name", async () => {
    const { readSettings } = await import("../cli/settings.js");
    expect(readSettings({ LONGHAND_RECEIPT_BYTES: "1.5 GB" }).receipts).toEqual({ days: null, bytes: 1.5e9 });
    expect(() => readSettings({ LONGHAND_RECEIPT_BYTES: "much" })).toThrow(
      /LONGHAND_RECEIPT_BYTES is "much".*500MB/,
    );
    expect(() => readSettings({ LONGHAND_RECEIPT_DAYS: "0" })).toThrow(
      /LONGHAND_RECEIPT_DAYS is "0".*such as 90/,
    );
  });
});
