import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { type Container, encode, modelOfContainer, runContainer } from "../../agent/index.js";
import { AssistantMessage } from "../../message/index.js";
import { chunk, eventStream, startChatCompletionsServer } from "../../testing/chatCompletionsServer.js";
import { RecordingHost } from "../../testing/recordingHost.js";

const MAIN = fileURLToPath(new URL("../../../dist/app/command/main.js", import.meta.url));
const LIMITS = { steps: 10, attempts: 3, timeMs: 30_000, toolMs: 1000, usd: null };

async function run(env: Record<string, string>, joins: (string | null)[] = []) {
  const container: Container = {
    name: "built-in",
    command: [process.execPath, MAIN, "agent"],
    isolation: "none",
    env,
  };
  const host = new RecordingHost(modelOfContainer(container, LIMITS), ["what time is it?"]);
  host.joins = joins;
  const end = await runContainer(host, { container, limits: LIMITS }, new AbortController().signal);
  return { host, end };
}

describe("longhand agent", () => {
  const demo = { LONGHAND_MODEL: "demo/demo", LONGHAND_DEMO_DELAY_MS: "0" };

  it("answers as a container, with its thinking, its tool and its usage", async () => {
    const { host, end } = await run(demo);
    expect(end).toEqual({ status: "answered" });
    expect(host.answers.map(({ message }) => message.contents.map(({ type }) => type))).toEqual([
      ["thinking", "tool_call"],
      ["thinking", "text"],
    ]);
    expect(host.batches[0]?.batch[0]).toMatchObject({
      wanted: { name: "clock" },
      result: { isError: false },
    });
    expect(host.answers[1] && AssistantMessage.textContent(host.answers[1].message)).toContain(
      "what time is it?",
    );
    expect(host.answers[1]?.message.usage).toMatchObject({ cost: { total: 0 } });
    expect(host.answers[1]?.message.usage.outputTokens).toBeGreaterThan(0);
  });

  it("is steered between its tools and after its answer", async () => {
    // The demo asks its clock anew for each thing it is told.
    const { host, end } = await run(demo, ["never mind the time", null, "one more thing"]);
    expect(end).toEqual({ status: "answered" });
    const texts = host.answers.map(({ message }) => AssistantMessage.textContent(message)).filter(Boolean);
    expect(texts.some((text) => text.includes("never mind the time"))).toBe(true);
    expect(texts.at(-1)).toContain("one more thing");
  });

  it("tells of a try that failed, and goes on with the next", async () => {
    const server = await startChatCompletionsServer();
    const whole = { body: eventStream([chunk({ content: "Hello" }), chunk({}, "stop")]) };
    server.script = { status: 503, headers: { "retry-after": "0" }, body: '{"error":{"message":"busy"}}' };
    const watch = setInterval(() => {
      if (server.requests.length > 0) server.script = whole;
    }, 5);
    try {
      const { host, end } = await run({ LONGHAND_MODEL: "openai/m", OPENAI_BASE_URL: server.baseUrl });
      expect(end).toEqual({ status: "answered" });
      expect(host.answers[0]?.message).toMatchObject({ stopReason: "error", errorKind: "overloaded" });
      expect(host.answers.at(-1)?.message.contents).toEqual([{ type: "text", content: "Hello" }]);
    } finally {
      clearInterval(watch);
      await server.close();
    }
  });

  it("says why it cannot answer", async () => {
    const server = await startChatCompletionsServer();
    server.script = { status: 401, body: '{"error":{"message":"invalid api key"}}' };
    try {
      const { end } = await run({ LONGHAND_MODEL: "openai/m", OPENAI_BASE_URL: server.baseUrl });
      expect(end).toMatchObject({
        status: "failed",
        message: { errorKind: "auth", error: expect.stringContaining("invalid api key") },
      });
    } finally {
      await server.close();
    }
  });

  it("refuses a first line that is no turn", async () => {
    for (const input of ["hello\n", "", '{"type":"continue"}\n']) {
      const child = spawn(process.execPath, [MAIN, "agent"], { env: { ...demo } });
      let err = "";
      child.stderr.on("data", (piece) => {
        err += piece;
      });
      child.stdin.end(input);
      expect(await new Promise((resolve) => child.on("close", resolve))).toBe(2);
      expect(err).toContain("docs/container.md");
    }
  });

  it("ends in the middle of its answer when nobody listens any more", async () => {
    const model = modelOfContainer({ name: "x", command: ["x"], isolation: "none" }, LIMITS);
    const { request } = await new RecordingHost(model, ["/long"]).request();
    const child = spawn(process.execPath, [MAIN, "agent"], {
      env: { ...demo, LONGHAND_DEMO_DELAY_MS: "20" },
    });
    let out = "";
    child.stdin.write(encode(model, request).body);
    child.stdout.on("data", (piece) => {
      out += piece;
      child.stdin.end();
    });
    expect(await new Promise((resolve) => child.on("close", resolve))).toBe(0);
    expect(out).toContain('"type":"thinking"');
    expect(out).not.toContain('"type":"result"');
    expect(out).not.toContain('"type":"tool_result"');
  });
});
