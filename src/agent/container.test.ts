import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import {
  AssistantMessage,
  HostMessage,
  ImageContent,
  project,
  SystemMessage,
  TextContent,
  ToolCallContent,
  ToolMessage,
  ToolResultContent,
  Usage,
  UserMessage,
} from "../message/index.js";
import { model } from "../provider/model.js";
import { chunk, eventStream, startChatCompletionsServer } from "../testing/chatCompletionsServer.js";
import { RecordingHost } from "../testing/recordingHost.js";
import { type Container, modelOfContainer, runContainer } from "./container.js";
import { ContainerInput, ContainerLine } from "./containerProtocol.js";
import type { AgentEnd, AgentLimits, UnfinishedBatch } from "./host.js";
import type { Used } from "./limitsLeft.js";

const EXAMPLE = join(import.meta.dirname, "../../examples/container/agent.mjs");
const LIMITS: AgentLimits = { steps: 10, attempts: 3, timeMs: 20_000, toolMs: 1000, usd: null };
const folder = mkdtempSync(join(tmpdir(), "longhand-container-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Before each program: `read()` a line (null at the end), `send` an event. */
const PRELUDE = `
import { createInterface } from "node:readline";
import { writeFileSync } from "node:fs";
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const read = async () => { const { done, value } = await lines.next(); return done ? null : JSON.parse(value); };
const send = (...events) => { for (const event of events) process.stdout.write(JSON.stringify(event) + "\\n"); };
const runTools = async () => { send({ type: "run_tools" }); return read(); };
const forever = () => new Promise(() => setInterval(() => {}, 1000));
const input = await read();
`;

let programs = 0;

function program(code: string, more: Partial<Container> = {}): Container {
  const file = join(folder, `program-${++programs}.mjs`);
  writeFileSync(file, PRELUDE + code);
  return { name: "helper", command: [process.execPath, file], isolation: "none", ...more };
}

type Options = {
  limits?: Partial<AgentLimits>;
  said?: ConstructorParameters<typeof RecordingHost>[1];
  joins?: (string | null)[];
  signal?: AbortSignal;
  host?: (host: RecordingHost) => void;
  unfinished?: UnfinishedBatch;
  used?: Used;
  request?: ConstructorParameters<typeof RecordingHost>[2];
};

async function run(container: Container, options: Options = {}) {
  const limits = { ...LIMITS, ...options.limits };
  const host = new RecordingHost(
    modelOfContainer(container, limits),
    options.said ?? ["hello"],
    options.request,
  );
  host.joins = options.joins ?? [];
  options.host?.(host);
  const { unfinished = null, used = null } = options;
  const start = { container, limits, unfinished, used };
  const end = await runContainer(host, start, options.signal ?? new AbortController().signal);
  return { host, end };
}

const lastText = (host: RecordingHost): string => {
  const last = host.answers.at(-1);
  return last ? AssistantMessage.textContent(last.message) : "";
};
const whyFailed = (end: AgentEnd): string =>
  end.status === "failed" ? (end.message.error ?? "") : end.status;

/** Is any process alive whose command line holds this word? */
function isAlive(word: string): boolean {
  return execFileSync("ps", ["-ewwo", "args"], { encoding: "utf8" })
    .split("\n")
    .some((line) => line.includes(word) && !line.includes("bash"));
}

describe("the example container", () => {
  const example: Container = { name: "example", command: [process.execPath, EXAMPLE], isolation: "none" };

  it("answers by itself where there is no model", async () => {
    const { host, end } = await run(example, { said: ["is the bread done?"] });
    expect(end).toEqual({ status: "answered" });
    expect(lastText(host)).toContain("The last I was told is: is the bread done?");
    expect(host.deltas.length).toBe(2);
  });

  it("takes in what is said after its answer, and goes on", async () => {
    const { host, end } = await run(example, { said: ["one"], joins: ["and two"] });
    expect(end).toEqual({ status: "answered" });
    expect(host.answers.map(({ message }) => AssistantMessage.textContent(message))).toEqual([
      expect.stringMatching(/one$/),
      expect.stringMatching(/and two$/),
    ]);
    expect(host.bodies()[1]).toMatch(/^\{"type":"steer","messages":\[\{.*"and two".*\]\}\n$/);
    expect(host.bodies()[1]).not.toContain('"one"');
  });

  it("asks a model when it is given one, with the notices behind the prompt", async () => {
    const server = await startChatCompletionsServer();
    server.script = {
      body: eventStream([chunk({ content: "Hel" }), chunk({ content: "lo" }), chunk({}, "stop")]),
    };
    try {
      const env = { OPENAI_BASE_URL: server.baseUrl, OPENAI_MODEL: "m" };
      const system = [
        { kind: "system" as const, text: "Be kind.", sources: [] },
        { kind: "notice" as const, text: "The oven is on.", sources: [] },
      ];
      const { host, end } = await run({ ...example, env }, { request: { system } });
      expect(end).toEqual({ status: "answered" });
      expect(lastText(host)).toBe("Hello");
      const sent = JSON.parse(server.requests[0]?.body.toString() ?? "");
      expect(sent.messages[0]).toEqual({ role: "system", content: "Be kind.\n\nThe oven is on." });
    } finally {
      await server.close();
    }
  });

  it("is short enough to be read at one sitting", () => {
    expect(readFileSync(EXAMPLE, "utf8").split("\n").length).toBeLessThan(70);
  });
});

describe("what a container is given", () => {
  it("is what was recorded, byte for byte, and the blocks say where each piece came from", async () => {
    const bytes = join(folder, "bytes");
    const container = program(
      `send({ type: "tool_use", id: "t", name: "look" });
       await runTools();
       send({ type: "tool_result", id: "t", content: "seen" });
       const next = await read();
       writeFileSync(${JSON.stringify(bytes)}, JSON.stringify(input) + "\\n" + JSON.stringify(next) + "\\n");
       send({ type: "result", text: "done" });`,
    );
    const { host } = await run(container, { joins: ["wait: ünïcödé 🎈"] });
    expect(readFileSync(bytes, "utf8")).toBe(host.bodies().join(""));
    for (const { encoded } of host.calls) {
      expect(encoded.blocks.map(({ text }) => text).join("")).toBe(encoded.body);
    }
    const sources = host.calls.map(({ encoded }) => encoded.blocks.flatMap((block) => block.sources));
    expect(sources).toEqual([
      [{ type: "message", id: host.messages[0]?.id }],
      [{ type: "message", id: host.messages[3]?.id }],
    ]);
    expect(host.calls.map(({ encoded }) => encoded.follows ?? false)).toEqual([false, true]);
  });

  it("keeps to the protocol, whatever the history holds", async () => {
    const png = Buffer.from(
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGD4DwABBAEAX+XDSwAAAABJRU5ErkJggg==",
      "base64",
    );
    const said = [
      SystemMessage.text("rules"),
      UserMessage.of([
        TextContent.of("look \ud800"),
        ImageContent.of(png),
        ImageContent.of("file:/etc/hostname"),
      ]),
      AssistantMessage.of([ToolCallContent.of("c1", "clock", {})], {
        usage: Usage.none(),
        stopReason: "tool_use",
        provider: "openai",
        api: "openai-chat",
        model: "m",
      }),
      ToolMessage.fromResult(ToolResultContent.of("c1", "noon", { metadata: { secret: "hook-data" } })),
      UserMessage.text("and?", { sender: "slack:U1" }),
    ];
    const { host, end } = await run(program(`send({ type: "result", text: "ok" });`), { said });
    expect(end).toEqual({ status: "answered" });
    const body = host.bodies()[0] ?? "";
    expect(body.indexOf("\n")).toBe(body.length - 1);
    const input = ContainerInput.parse(JSON.parse(body));
    expect(input.messages.map(({ role }) => role)).toEqual(["system", "user", "assistant", "tool", "user"]);
    expect(body).toContain(`data:image/png;base64,${png.toString("base64")}`);
    expect(body).not.toContain("hook-data");
    expect(body).not.toContain("file:");
    expect(body).not.toContain("slack:U1");
  });

  it("holds no message of the host, and no variable that was not named", async () => {
    process.env.LONGHAND_TEST_SECRET = "inherited-secret";
    const container = program(
      `send({ type: "result", text: JSON.stringify([input, process.env, process.cwd()]) });`,
      {
        env: { NAMED: "yes" },
      },
    );
    const rows = [HostMessage.text("the server was restarted"), UserMessage.text("hello")];
    const { host } = await run(container, { said: rows.flatMap((row) => project(row) ?? []) });
    delete process.env.LONGHAND_TEST_SECRET;
    const [input, env, cwd] = JSON.parse(lastText(host));
    expect(input.messages.map((message: { role: string }) => message.role)).toEqual(["user"]);
    expect(JSON.stringify(input)).not.toContain("restarted");
    expect(env).toEqual({ NAMED: "yes", PATH: expect.stringContaining("/usr/bin") });
    expect(cwd).toBe("/");
  });

  it("tells its limits and the turn it is for", async () => {
    const { host } = await run(program(`send({ type: "result", text: "ok" });`, { model: "demo/demo" }));
    expect(JSON.parse(host.bodies()[0] ?? "")).toMatchObject({
      type: "input",
      protocol: 1,
      chat_jid: "home",
      turn_id: "turn-1",
      assistant_name: "Longhand",
      model: "demo/demo",
      limits: { steps: 10, time_ms: 20_000, idle_ms: 120_000 },
    });
  });
});

describe("what a container says", () => {
  it("becomes an answer with its thinking, its tools, their results and its usage", async () => {
    const container = program(`
      send({ type: "thinking", delta: "hm" }, { type: "thinking", delta: "m" }, { type: "text", delta: "Let me look." });
      send({ type: "tool_use", id: "a", name: "look", args: { at: 1 } }, { type: "tool_use", id: "b", name: "hear" });
      send({ type: "usage", usage: { input_tokens: 10, output_tokens: 5, cost_usd: 0.5 } });
      await runTools();
      send({ type: "tool_result", id: "b", content: "noise" }, { type: "tool_result", id: "a", content: "no", is_error: true });
      const next = await read();
      send({ type: "text", delta: "Nothing" }, { type: "text", delta: " there." });
      send({ type: "result", usage: { input_tokens: 20, output_tokens: 7 } });`);
    const { host, end } = await run(container);
    expect(end).toEqual({ status: "answered" });
    expect(host.bodies()[1]).toBe('{"type":"continue"}\n');
    expect(host.answers.map(({ message, last }) => [message.stopReason, last])).toEqual([
      ["tool_use", false],
      ["stop", true],
    ]);
    expect(host.answers[0]?.message).toMatchObject({
      provider: "container",
      model: "helper",
      contents: [
        { type: "thinking", content: "hmm" },
        { type: "text", content: "Let me look." },
        { type: "tool_call", id: "a", name: "look", args: { at: 1 } },
        { type: "tool_call", id: "b", name: "hear", args: {} },
      ],
      usage: { inputTokens: 10, outputTokens: 5, cost: { total: 0.5 } },
    });
    expect(host.batches[0]?.batch.map(({ result }) => [result.id, result.content, result.isError])).toEqual([
      ["a", "no", true],
      ["b", "noise", false],
    ]);
    expect(host.done.map(({ index }) => index)).toEqual([1, 0]);
    expect(lastText(host)).toBe("Nothing there.");
    expect(host.answers[1]?.message.usage).toMatchObject({ inputTokens: 20, outputTokens: 7, cost: null });
    expect(host.deltas.map(({ part }) => part)).toEqual([0, 0, 1, 2, 3, 0, 0]);
  });

  it("is on record with all its tools before one of them may run", async () => {
    const mark = join(folder, "ran");
    const container = program(`
      send({ type: "tool_use", id: "a", name: "pay" }, { type: "tool_use", id: "b", name: "pay" });
      if (await runTools()) writeFileSync(${JSON.stringify(mark)}, "");
      send({ type: "tool_result", id: "a", content: "paid" }, { type: "tool_result", id: "b", content: "paid" });
      await read();
      send({ type: "result", text: "Paid twice." });`);
    const ranBefore: boolean[] = [];
    const { host, end } = await run(container, {
      host: (host) => {
        const { answered } = host;
        host.answered = async (call, message, last) => {
          await new Promise((resolve) => setTimeout(resolve, 100));
          ranBefore.push(existsSync(mark));
          return answered.call(host, call, message, last);
        };
      },
    });
    expect(end).toEqual({ status: "answered" });
    expect(ranBefore).toEqual([false, true]);
    expect(host.answers[0]?.message.contents).toMatchObject([{ id: "a" }, { id: "b" }]);
    expect(host.bodies()).toHaveLength(2);
  });

  it("runs no tool when the turn is stopped while it asks", async () => {
    const mark = join(folder, "ran-after-stop");
    const stop = new AbortController();
    const container = program(`
      send({ type: "tool_use", id: "a", name: "pay" });
      if (await runTools()) writeFileSync(${JSON.stringify(mark)}, "");
      await forever();`);
    const { host, end } = await run(container, {
      signal: stop.signal,
      host: (host) => {
        const { answered } = host;
        host.answered = (call, message, last) => {
          stop.abort();
          return answered.call(host, call, message, last);
        };
      },
    });
    expect(end).toEqual({ status: "stopped" });
    expect(existsSync(mark)).toBe(false);
    expect(host.batches[0]?.batch[0]?.result.content).toContain("was not run");
  });

  it("ends the turn where every result wants that", async () => {
    const { host, end } = await run(
      program(`send({ type: "tool_use", id: "a", name: "bell" });
               await runTools();
               send({ type: "tool_result", id: "a", content: "rang", terminate: true });
               await read();`),
    );
    expect(end).toEqual({ status: "answered" });
    expect(host.batches).toMatchObject([{ last: true }]);
  });

  it("is steered between its tools, and told only what is new", async () => {
    const container = program(`
      send({ type: "tool_use", id: "a", name: "look" });
      await runTools();
      send({ type: "tool_result", id: "a", content: "x" });
      const next = await read();
      send({ type: "result", text: next.type + ": " + next.messages.map((m) => m.contents[0].content).join() });`);
    const { host } = await run(container, { said: ["one", "two"], joins: ["stop that"] });
    expect(lastText(host)).toBe("steer: stop that");
  });

  it("is not spoiled by characters no store can keep, nor by one that came in two halves", async () => {
    const container = program(`
      process.stdout.write('{"type":"text","delta":"a\\\\ud83c"}\\n{"type":"text","delta":"\\\\udf88b\\\\u0000\\\\udc00"}\\n');
      send({ type: "result" });`);
    const { host } = await run(container);
    expect(lastText(host)).toBe("a🎈b\ufffd\ufffd");
    expect(host.deltas.map((delta) => "delta" in delta && delta.delta).join("")).toBe("a🎈b\ufffd\ufffd");
  });

  it("may begin anew after a failed try, and the try is on the record", async () => {
    const container = program(`
      send({ type: "text", delta: "half an" }, { type: "error", message: "overloaded", kind: "overloaded", retrying: true });
      await read();
      send({ type: "text", delta: "whole" }, { type: "result" });`);
    const { host, end } = await run(container);
    expect(end).toEqual({ status: "answered" });
    expect(host.calls.map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(
      host.answers.map(({ message }) => [message.stopReason, AssistantMessage.textContent(message)]),
    ).toEqual([
      ["error", "half an"],
      ["stop", "whole"],
    ]);
  });

  it("on standard error goes to the log, without keys", async () => {
    const log: string[] = [];
    const container = program(
      `console.error("key is", process.env.API_KEY); send({ type: "error", message: "bad key " + process.env.API_KEY });`,
      { env: { API_KEY: "sk-very-secret" }, log: (line) => log.push(line) },
    );
    const { end } = await run(container);
    expect(whyFailed(end)).toBe("the container helper failed: bad key [API_KEY]");
    expect(log).toEqual(["key is [API_KEY]"]);
  });

  it("goes nowhere with a value it was given, whatever the variable is called and wherever a line is cut", async () => {
    const log: string[] = [];
    const url = "postgres://me:hunter2@db/x";
    const container = program(
      `const { DB, INNER } = process.env;
       console.error("x".repeat(4090) + DB); console.error(INNER);
       process.stderr.write("y".repeat(4090) + DB + "y".repeat(9000));
       console.log("z".repeat(190) + DB);
       send({ type: "error", message: "cannot reach " + DB });`,
      { env: { DB: url, INNER: "hunter2@db" }, log: (line) => log.push(line) },
    );
    const { end } = await run(container);
    expect(whyFailed(end)).toBe("the container helper failed: cannot reach [DB]");
    expect(log).toContain("[INNER]");
    expect(log.filter((line) => line.startsWith("x") || line.startsWith("y"))).toHaveLength(2);
    expect(log.some((line) => line.startsWith("not an event: “z"))).toBe(true);
    expect(log.join("\n")).not.toMatch(/postgre|hunter/);
  });
});

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
