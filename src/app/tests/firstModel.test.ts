import { afterEach, describe, expect, it } from "vitest";
import { type ModelServer, startChatCompletionsServer } from "../../testing/index.js";
import { ServerProcess } from "../../testing/serverProcess.js";

/** What a newcomer gets who has set next to nothing. */
describe("the first model", () => {
  const open: { close(): Promise<void> }[] = [];
  afterEach(async () => {
    for (const one of open.splice(0)) await one.close();
  });

  async function started(env: Record<string, string>): Promise<ServerProcess> {
    const server = await ServerProcess.start(env);
    open.push({ close: () => server.dispose() });
    return server;
  }
  async function modelServer(models: string[]): Promise<ModelServer> {
    const server = await startChatCompletionsServer({ systemOnlyFirst: true, models });
    open.push(server);
    return server;
  }

  /** The last answer in `home`, and the model that the page names. */
  async function firstWords(
    server: ServerProcess,
  ): Promise<{ said: unknown; named: unknown; outcome: unknown }> {
    const { body } = await server.submit("home", "hello");
    const { outcome } = await server.outcome("home", body.message_id);
    const rows = await server.messages("home");
    const { body: listed } = await server.ask("GET", "/v1/models");
    const [named] = listed.models as unknown[];
    return { said: rows.findLast((row) => row.sender === "bot")?.content, named, outcome };
  }

  it("is the demo, offline, where nothing is set, and everybody is told so", async () => {
    const server = await started({});
    const { said, named, outcome } = await firstWords(server);
    expect(outcome).toBe("answered");
    expect(said).toContain("said “hello”");
    expect(server.printed).toContain("demo/demo: no model is configured, so the offline demo answers");
    expect(named).toMatchObject({
      name: "demo/demo",
      default: true,
      note: "no model is configured, so the offline demo answers",
    });
  });

  it("is the one a compatible server has, where only its address is set", async () => {
    const models = await modelServer(["qwen3:8b"]);
    const server = await started({ OPENAI_BASE_URL: models.baseUrl });
    models.next({ do: "call", name: "clock" }, { do: "say", text: "Good evening." });
    const { said, named, outcome } = await firstWords(server);
    expect(outcome).toBe("answered");
    expect(said).toBe("Good evening.");
    expect(server.printed).toContain("openai/qwen3:8b: OPENAI_BASE_URL is set");
    expect(named).toMatchObject({ name: "openai/qwen3:8b", default: true, available: true });
    expect(models.requests.map(({ body }) => JSON.parse(String(body)).model)).toEqual([
      "qwen3:8b",
      "qwen3:8b",
    ]);
  });

  it("is the one that was named, where a compatible server does not tell what it has", async () => {
    const models = await modelServer([]);
    const server = await started({ OPENAI_BASE_URL: models.baseUrl, LONGHAND_MODEL: "openai/local" });
    const { said, named } = await firstWords(server);
    expect(said).toBe("Hello");
    expect(named).toMatchObject({ name: "openai/local", default: true, note: "LONGHAND_MODEL says so" });
  });

  it("is the demo, with what to set, where a compatible server tells nothing and none was named", async () => {
    const models = await modelServer([]);
    const server = await started({ OPENAI_BASE_URL: models.baseUrl });
    const { named, outcome } = await firstWords(server);
    expect(outcome).toBe("answered");
    expect(named).toMatchObject({ name: "demo/demo" });
    expect(server.printed).toContain("set LONGHAND_MODEL=openai/<its id>");
    expect(models.requests).toEqual([]);
  });
});
