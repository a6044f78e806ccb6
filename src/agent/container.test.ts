import { existsSync, readFileSync } from "node:fs";
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
import { chunk, eventStream, startChatCompletionsServer } from "../testing/chatCompletionsServer.js";
import { folder, lastText, program, removeFolder, run, whyFailed } from "../testing/containerProgram.js";
import type { Container } from "./container.js";
import { ContainerInput } from "./containerProtocol.js";

const EXAMPLE = join(import.meta.dirname, "../../examples/container/agent.mjs");
afterAll(removeFolder);

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
    expect(log.join("\n")).not.toMatch(/postg|hunter/);
  });
});
