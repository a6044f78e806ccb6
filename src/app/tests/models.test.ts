import { execFile } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chunk, eventStream } from "../../testing/chatCompletionsServer.js";
import { ServerProcess } from "../../testing/serverProcess.js";
import { createClient } from "../client/index.js";

const MAIN = fileURLToPath(new URL("../../../dist/app/command/main.js", import.meta.url));
const KEY = "sk-must-not-be-seen";

/** 300 tokens in, 100 of them cached, and 55 out. */
const USAGE = {
  prompt_tokens: 300,
  completion_tokens: 55,
  total_tokens: 355,
  prompt_tokens_details: { cached_tokens: 100 },
};
/** 200 × $2 + 100 × $0.50 + 55 × $10, for a million. */
const COST = 0.001;

describe("a server of one's own, by its address alone", () => {
  let models: Server;
  let server: ServerProcess;

  beforeAll(async () => {
    models = createServer((request, response) => {
      request.resume();
      if (request.method === "GET" && request.url === "/v1/models")
        return response.end(
          JSON.stringify({ data: [{ id: "big", max_model_len: 32_768 }, { id: "unpriced" }] }),
        );
      const said = [chunk({ content: "Hello." }), chunk({}, "stop"), { choices: [], usage: USAGE }];
      return response.writeHead(200, { "content-type": "text/event-stream" }).end(eventStream(said));
    });
    await new Promise<void>((resolve) => models.listen(0, "127.0.0.1", resolve));
    const address = models.address();
    const port = address !== null && typeof address === "object" ? address.port : 0;
    const data = mkdtempSync(join(tmpdir(), "longhand-"));
    const file = { "openai/big": { price: { input: 2, output: 10, cache_read: 0.5 } } };
    writeFileSync(join(data, "models.json"), JSON.stringify(file));
    const env = { OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`, OPENAI_API_KEY: KEY };
    server = await ServerProcess.start({ ...env, OLLAMA_BASE_URL: "http://127.0.0.1:2/v1" }, data);
  });
  afterAll(async () => {
    await server.dispose();
    await new Promise((resolve) => models.close(resolve));
  });

  const run = async (...args: string[]): Promise<string> => {
    const env = { PATH: process.env.PATH, LONGHAND_PORT: String(server.port), LONGHAND_TOKEN: server.token };
    return (await promisify(execFile)(process.execPath, [MAIN, ...args], { cwd: server.data, env })).stdout;
  };

  it("just works: the first of its models answers, and the server says why", () => {
    expect(server.printed).toContain("openai/big: OPENAI_BASE_URL is set, and it is the first model there");
  });

  it("is listed with its window and its price, and what is missing for the others", async () => {
    const shown = await run("models");
    expect(shown).toMatch(/^openai\/big +33k +2 \/ 10 +\? +the default: OPENAI_BASE_URL is set/m);
    expect(shown).toMatch(/^openai\/unpriced +\? +price unknown/m);
    expect(shown).toMatch(/^demo\/demo +\? +free +tools, thinking/m);
    expect(shown).toMatch(/^ {2}anthropic\/\S+ +\S+ needs ANTHROPIC_API_KEY=<your key>/m);
    expect(shown).toMatch(/^ {2}ollama\/<model> .*nothing listens there. Start it with `ollama serve`/m);
    expect(shown).not.toContain(KEY);
  });

  it("is listed the same by the API and its client, for whoever may read", async () => {
    const { body: token } = await server.ask("POST", "/v1/tokens", { name: "reader", scopes: ["read"] });
    const client = createClient({ baseUrl: server.baseUrl, token: String(token.token) });
    const { models: listed } = await client.models();
    expect(listed[0]).toMatchObject({
      name: "openai/big",
      default: true,
      available: true,
      window: 32_768,
      price: { input: 2, output: 10, cache_read: 0.5, cache_write: 2, above: [] },
    });
    expect(
      (await run("models", "--json"))
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toEqual(listed);
    const { body: spoke } = await server.ask("POST", "/v1/tokens", { name: "in", scopes: ["ingest:slack"] });
    const refused = await server.ask("GET", "/v1/models", undefined, {
      authorization: `Bearer ${spoke.token}`,
    });
    expect(refused.status).toBe(403);
  });

  it("is paid for, class by class, in the receipt and in the usage", async () => {
    const said = await server.submit("home", "hello");
    expect(await server.outcome("home", said.body.message_id)).toMatchObject({ outcome: "answered" });
    const { body } = await server.ask("GET", "/v1/chats/home/calls");
    const [call] = body.calls as { cost: Record<string, number> }[];
    expect(call?.cost).toEqual({
      input: 0.0004,
      output: 0.00055,
      cache_read: 0.00005,
      cache_write: 0,
      total: expect.closeTo(COST, 12),
    });
    expect(await run("usage", "--by", "model")).toMatch(
      /^openai\/big +1 call +300 in +55 out +\$0\.0010 *$/m,
    );
  });

  it("keeps to a budget of money, and is refused under one where its price is not known", async () => {
    const budget = { usd_per_day: 1 };
    for (const [jid, model] of [
      ["priced", "openai/big"],
      ["unpriced", "openai/unpriced"],
    ]) {
      await server.ask("POST", "/v1/chats", { jid, trigger: "always", model, budget });
    }
    const outcomes = await Promise.all(
      ["priced", "unpriced"].map(async (jid) => {
        const { body } = await server.submit(jid, "hello");
        return server.outcome(jid, body.message_id);
      }),
    );
    expect(outcomes[0]).toMatchObject({ outcome: "answered" });
    expect(outcomes[1]).toMatchObject({
      reason: expect.stringContaining("the price of openai/unpriced is not known"),
    });
  });
});
