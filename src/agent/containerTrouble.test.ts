import { execFileSync } from "node:child_process";
import { afterAll, describe, expect, it } from "vitest";
import { AssistantMessage, ToolCallContent } from "../message/index.js";
import { model } from "../provider/model.js";
import { chunk, eventStream, startChatCompletionsServer } from "../testing/chatCompletionsServer.js";
import { LIMITS, lastText, program, removeFolder, run, whyFailed } from "../testing/containerProgram.js";
import { RecordingHost } from "../testing/recordingHost.js";
import { modelOfContainer, runContainer } from "./container.js";
import { ContainerLine } from "./containerProtocol.js";
import type { AgentLimits } from "./host.js";

afterAll(removeFolder);

/** Is any process alive whose command line holds this word? */
function isAlive(word: string): boolean {
  return execFileSync("ps", ["-ewwo", "args"], { encoding: "utf8" })
    .split("\n")
    .some((line) => line.includes(word) && !line.includes("bash"));
}

describe("a container that misbehaves", () => {
  const idle = (idleMs: number) => ({ limits: { idleMs } });

  /** A moment after its first word, so much time is over. */
  const skipAfterWord = (ms: number) => (host: RecordingHost) => {
    host.onDelta = () => void setTimeout(() => host.skip(ms), 50);
  };

  it("is ended when its time is over, and what it said stays", async () => {
    const container = program(
      `send({ type: "text", delta: "so far" }); setInterval(() => send({ type: "alive" }), 20);`,
      idle(1e6),
    );
    const options = { limits: { timeMs: 60_000 }, host: skipAfterWord(60_000) };
    const { host, end } = await run(container, options);
    expect(end).toEqual({ status: "out_of_time" });
    expect(host.answers).toMatchObject([{ message: { stopReason: "aborted" }, last: false }]);
    expect(lastText(host)).toBe("so far");
    expect(isAlive(container.command[1] ?? "")).toBe(false);
  });

  it("is ended when it falls silent, and the reason says so", async () => {
    const container = program(`send({ type: "text", delta: "so far" }); await forever();`, idle(60_000));
    const { host, end } = await run(container, { limits: { timeMs: 1e6 }, host: skipAfterWord(60_000) });
    expect(whyFailed(end)).toBe("the container helper failed: it said nothing for 60 s");
    expect(end).toMatchObject({ message: { errorKind: "timeout", stopReason: "error" } });
    expect(lastText(host)).toBe("so far");
    expect(isAlive(container.command[1] ?? "")).toBe(false);
  });

  it("may take as long as it likes, as long as it is heard of", async () => {
    const container = program(
      `for (const delta of "abc") { send({ type: "text", delta }); await new Promise((r) => setTimeout(r, 60)); send({ type: "alive" }); }
       send({ type: "result" });`,
      idle(60_000),
    );
    const { host, end } = await run(container, {
      limits: { timeMs: 1e6 },
      host: (host) => {
        host.onDelta = () => host.skip(60_000);
      },
    });
    expect(end).toEqual({ status: "answered" });
    expect(lastText(host)).toBe("abc");
  });

  it.each([
    [
      "killed",
      `process.kill(process.pid, "SIGKILL"); await forever();`,
      "it was killed by SIGKILL before it gave a result",
    ],
    ["exit 3", "process.exit(3);", "it ended with exit code 3 before it gave a result"],
    ["exit 0", "process.exit(0);", "it ended without a result"],
    ["throws", "throw new Error('oh');", "it ended with exit code 1 before it gave a result"],
    [
      "long line",
      `process.stdout.write("x".repeat(3_000_000)); await forever();`,
      "it wrote a line of more than 1048576 bytes",
    ],
    [
      "result too early",
      `send({ type: "tool_use", id: "a", name: "x" }, { type: "result" }); await forever();`,
      "it gave its result before those of its tools",
    ],
    [
      "tool without asking",
      `send({ type: "tool_use", id: "a", name: "x" }, { type: "tool_result", id: "a", content: "" }); await forever();`,
      "it ran a tool before its run_tools was answered",
    ],
    [
      "asks to run nothing",
      `send({ type: "run_tools" }); await forever();`,
      "it wanted to run tools and named none",
    ],
    [
      "asks twice",
      `send({ type: "tool_use", id: "a", name: "x" }, { type: "run_tools" }, { type: "run_tools" }); await forever();`,
      "it wanted to run its tools twice",
    ],
    [
      "closes its output",
      `(await import("node:fs")).closeSync(1); await forever();`,
      "it closed its output before it gave a result",
    ],
    ["says why", `send({ type: "error", message: "no luck" }); await forever();`, "no luck"],
  ])("%s: the turn fails, in words", async (_name, code, why) => {
    const container = program(
      `send({ type: "text", delta: "so far" }); await new Promise((r) => setTimeout(r, 50)); ${code}`,
    );
    const { host, end } = await run(container);
    expect(whyFailed(end)).toBe(`the container helper failed: ${why}`);
    const [first] = host.answers;
    expect(first && AssistantMessage.textContent(first.message)).toBe("so far");
    expect(isAlive(container.command[1] ?? "")).toBe(false);
  });

  it("cannot be started: the turn fails, in words", async () => {
    const { end } = await run({ name: "gone", command: ["/no/such/program"], isolation: "none" });
    expect(whyFailed(end)).toMatch(/^the container gone failed: it could not be started: .*ENOENT/);
  });

  it("has no folder to run in: the turn fails, in words", async () => {
    const { end } = await run(program(`send({ type: "result" });`, { folder: "/no/such/folder" }));
    expect(whyFailed(end)).toBe("the container helper failed: /no/such/folder does not exist");
  });

  it("may print a stray line, but not many", async () => {
    const log: string[] = [];
    const container = program(
      `console.log("debug"); send({ type: "later", x: 1 }, { type: "text" }); send({ type: "result", text: "fine" });`,
      { log: (line) => log.push(line) },
    );
    expect((await run(container)).end).toEqual({ status: "answered" });
    expect(log).toEqual(["not an event: “debug”", expect.stringMatching(/^not an event: text: delta /)]);
    const chatty = program(`for (;;) { console.log("debug"); await new Promise((r) => setTimeout(r, 1)); }`);
    expect(whyFailed((await run(chatty)).end)).toBe(
      "the container helper failed: it sent 21 lines that are no events, the last: “debug”",
    );
  });

  it("may not talk without end", async () => {
    const endless = `const say = () => { while (process.stdout.write('{"type":"alive"}\\n')); process.stdout.once("drain", say); }; say();`;
    expect(whyFailed((await run(program(endless, { limits: { events: 500 } }))).end)).toMatch(
      /more than 500 events/,
    );
    expect(whyFailed((await run(program(endless, { limits: { outputBytes: 9000 } }))).end)).toMatch(
      /more than 9000 bytes/,
    );
  });

  it("may not fill the chat with pieces, nor leave characters no store can keep in its last word", async () => {
    const calls = `for (let i = 0; i < 1001; i++) send({ type: "tool_use", id: "t" + i, name: "x" });`;
    const words = `for (let i = 0; i < 501; i++) send({ type: "text", delta: "x" }, { type: "thinking", delta: "y" });`;
    for (const flood of [calls, words]) {
      const { host, end } = await run(program(`${flood} send({ type: "result", text: "z" });`));
      expect(whyFailed(end)).toBe("the container helper failed: it spoke in more than 1000 parts");
      expect(host.answers.at(-1)?.message.contents.length).toBeLessThan(1002);
    }
    const { end } = await run(program(`send({ type: "error", message: "a\\0b\\ud800" });`));
    expect(whyFailed(end)).toBe("the container helper failed: a\ufffdb\ufffd");
  });

  it("takes what it started with it", async () => {
    const word = `sleep-${process.pid}-mark`;
    const container = program(`
      const { spawn } = await import("node:child_process");
      spawn("/bin/sh", ["-c", "sleep 300; : ${word}"], { stdio: "inherit" });
      send({ type: "result", text: "bye" }); await read(); process.exit(0);`);
    expect((await run(container)).end).toEqual({ status: "answered" });
    expect(isAlive(word)).toBe(false);
  });

  it("is made to end when it will not listen", async () => {
    const container = program(
      `process.on("SIGTERM", () => {}); send({ type: "text", delta: "x" }); await forever();`,
    );
    const stop = new AbortController();
    const { host, end } = await run(container, {
      signal: stop.signal,
      host: (host) => {
        host.onDelta = () => {
          expect(isAlive(container.command[1] ?? "")).toBe(true);
          stop.abort();
        };
      },
    });
    expect(end).toEqual({ status: "stopped" });
    expect(host.answers).toMatchObject([{ message: { stopReason: "aborted" } }]);
    expect(isAlive(container.command[1] ?? "")).toBe(false);
  });

  it("leaves no tool open when it dies in one", async () => {
    const { host, end } = await run(
      program(`send({ type: "tool_use", id: "a", name: "x" }, { type: "tool_use", id: "b", name: "y" });
               await runTools();
               send({ type: "tool_result", id: "a", content: "done" }); await new Promise((r) => setTimeout(r, 50)); process.exit(1);`),
    );
    expect(end.status).toBe("failed");
    expect(host.batches[0]?.batch.map(({ result }) => [result.id, result.isError])).toEqual([
      ["a", false],
      ["b", true],
    ]);
    expect(host.batches[0]?.batch[1]?.result.content).toContain("may or may not have taken effect");
  });

  it("goes no further than its steps, its money and its budget", async () => {
    const looping = program(`for (;;) {
      send({ type: "tool_use", id: "a", name: "x" }, { type: "usage", usage: { cost_usd: 1 } });
      await runTools();
      send({ type: "tool_result", id: "a", content: "" });
      if (!(await read())) break; }`);
    expect((await run(looping, { limits: { steps: 3 } })).end).toEqual({ status: "out_of_steps" });
    expect((await run(looping, { limits: { usd: 2 } })).end).toEqual({ status: "out_of_money" });
    const refusing = (at: number) => ({
      host: (host: RecordingHost) => {
        host.refuseAt = at;
      },
    });
    expect((await run(looping, refusing(2))).end).toEqual({ status: "refused", why: "the budget is spent" });
    const used = { steps: 8, timeMs: 0, usd: 0 };
    const late = await run(looping, { used });
    expect(late.end).toEqual({ status: "out_of_steps" });
    expect(late.host.batches).toHaveLength(2);
    expect(JSON.parse(late.host.bodies()[0] ?? "").limits).toMatchObject({ steps: 2 });
    const spent = await run(looping, { limits: { usd: 2 }, used: { ...used, usd: 2 } });
    expect(spent.end).toEqual({ status: "out_of_money" });
    expect(spent.host.calls).toEqual([]);
    expect((await run(looping, refusing(1))).end).toEqual({ status: "refused", why: "the budget is spent" });
  });
});

describe("a container that has a model behind it", () => {
  async function runBoth(code: string, limits: Partial<AgentLimits> = {}) {
    const server = await startChatCompletionsServer();
    server.script = { body: eventStream([chunk({ content: "In its place." }), chunk({}, "stop")]) };
    try {
      const container = program(code);
      const start = { container, limits: { ...LIMITS, ...limits }, fallback: { tools: [] } };
      const host = new RecordingHost(modelOfContainer(container, start.limits), ["hello"]);
      host.fallback = model({ api: "openai-chat", id: "spare", baseUrl: server.baseUrl });
      const end = await runContainer(host, start, new AbortController().signal);
      return { host, end, asked: server.requests.map(({ body }) => body.toString()) };
    } finally {
      await server.close();
    }
  }

  it("is replaced by it when it fails, and what its tools did stays known", async () => {
    const { host, end, asked } = await runBoth(`
      send({ type: "tool_use", id: "a", name: "pay" });
      await runTools();
      send({ type: "tool_result", id: "a", content: "paid-canary" });
      await read();
      process.exit(1);`);
    expect(end).toEqual({ status: "answered" });
    expect(lastText(host)).toBe("In its place.");
    expect(host.answers.map(({ message }) => message.stopReason)).toEqual(["tool_use", "error", "stop"]);
    expect(asked).toEqual([expect.stringContaining("paid-canary")]);
  });

  it("is not replaced when it answered, or when the run may go no further", async () => {
    const well = await runBoth(`send({ type: "result", text: "fine" });`);
    expect([well.end.status, well.asked]).toEqual(["answered", []]);
    const broke = await runBoth(
      `send({ type: "usage", usage: { cost_usd: 2 } }, { type: "error", message: "no luck" });`,
      { usd: 1 },
    );
    expect([broke.end.status, broke.asked]).toEqual(["out_of_money", []]);
  });
});

describe("after a crash of the server", () => {
  it("a tool that was running is said to be interrupted, and the turn is run anew", async () => {
    const wanted = ToolCallContent.of("t", "pay");
    const unfinished = { callId: "call-0", uses: [{ wanted, result: null }] };
    const { host, end } = await run(program(`send({ type: "result", text: "ok" });`), { unfinished });
    expect(end).toEqual({ status: "answered" });
    expect(host.batches[0]).toMatchObject({ callId: "call-0", last: false });
    expect(host.batches[0]?.batch[0]?.result.content).toContain("interrupted by a restart");
    expect(ContainerLine.parse(JSON.parse(host.bodies()[0] ?? ""))).toMatchObject({ type: "input" });
  });
});
