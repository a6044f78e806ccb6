import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { connectMcp, type McpConfig, type McpOptions, type McpTools } from "./mcp.js";
import { model } from "../provider/model.js";
import { LIMITS, MemoryHost } from "../testing/agentHost.js";
import { chunk, eventStream, startChatCompletionsServer } from "../testing/chatCompletionsServer.js";
import { clock } from "./clock.js";
import { runAgent } from "./run.js";
import type { Tool, ToolContext } from "./tool.js";
import { resultOfError, resultOfOutput } from "./toolResult.js";

const require = createRequire(import.meta.url);
const EVERYTHING = require.resolve("@modelcontextprotocol/server-everything/dist/index.js");
const HOSTILE = join(import.meta.dirname, "fixtures/hostileMcp.mjs");
const KEY = "canary-key-0123456789";
const everything = { command: process.execPath, args: [EVERYTHING, "stdio"] };
const hostile = (mode = "serve") => ({ command: process.execPath, args: [HOSTILE, mode], env: { KEY } });

let time = 1_000_000;
const open: McpTools[] = [];
const children: ChildProcess[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((mcp) => mcp.close()));
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

async function connect(
  mcpServers: McpConfig["mcpServers"],
  more: Partial<McpOptions> = {},
): Promise<McpTools> {
  const mcp = await connectMcp({ mcpServers }, { now: () => time, ...more });
  open.push(mcp);
  return mcp;
}

/** What a model would be given. */
async function use(tools: readonly Tool[], name: string, args = {}, signal = new AbortController().signal) {
  const tool = tools.find((known) => known.name === name);
  if (!tool) throw new Error(`no ${name} among ${tools.map((known) => known.name).join(" ")}`);
  const context: ToolContext = {
    chat_jid: "web:home",
    turn_id: "t",
    call_id: "c",
    time_zone: "UTC",
    now: () => time,
    signal,
  };
  return tool.run(args, context).then(
    (output) => resultOfOutput("x", output),
    (error) => resultOfError("x", error),
  );
}

async function startEverything(transport: string, port = 0): Promise<{ port: number; child: ChildProcess }> {
  const free = port || (await freePort());
  const env = { PATH: process.env.PATH ?? "", PORT: String(free) };
  const child = spawn(process.execPath, [EVERYTHING, transport], {
    env,
    stdio: ["ignore", "ignore", "pipe"],
  });
  children.push(child);
  let said = "";
  child.stderr.on("data", (chunk) => {
    said += String(chunk);
  });
  await until(() => said.includes(`port ${free}`));
  return { port: free, child };
}

async function kill(child: ChildProcess): Promise<void> {
  child.kill("SIGKILL");
  await once(child, "exit");
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const address = probe.address();
  probe.close();
  return address !== null && typeof address === "object" ? address.port : 0;
}

async function until(what: () => boolean): Promise<void> {
  while (!what()) await new Promise((resolve) => setTimeout(resolve, 20));
}

describe("a public MCP server", () => {
  it("gives its tools over standard input and output, and what they give arrives whole", async () => {
    const { tools, problems } = await connect({ every: everything }, { besides: [clock] });
    expect(problems).toEqual([expect.stringContaining('its tool "simulate-research-query" is left out')]);
    expect(tools[0]).toBe(clock);
    expect(tools.find(({ name }) => name === "every__get-sum")).toMatchObject({ repeatable: true });
    expect(tools.find(({ name }) => name === "every__toggle-simulated-logging")).toMatchObject({
      repeatable: false,
    });
    expect(await use(tools, "every__echo", { message: "grüße 🎈" })).toMatchObject({
      content: "Echo: grüße 🎈",
    });
    expect((await use(tools, "every__get-tiny-image")).images).toEqual([
      expect.stringMatching(/^data:image\/png;base64,iVBO/),
    ]);
    const weather = await use(tools, "every__get-structured-content", { location: "Chicago" });
    expect(weather.metadata.structured_content).toMatchObject({ temperature: 36 });
    expect(JSON.parse(weather.content)).toMatchObject({ temperature: 36 });
    expect((await use(tools, "every__get-resource-reference", { resourceType: "Text" })).content).toContain(
      "[resource demo://resource/dynamic/text/1]",
    );
    expect((await use(tools, "every__get-resource-links", { count: 1 })).content).toContain("[link demo://");
  });

  it("answers over HTTP too, also after it forgot our session, or was away for a while", async () => {
    const first = await startEverything("streamableHttp");
    const { port } = first;
    const { tools, problems } = await connect({ web: { url: `http://127.0.0.1:${port}/mcp` } });
    expect(problems.filter((problem) => !problem.includes("only as an MCP task"))).toEqual([]);
    expect(await use(tools, "web__get-sum", { a: 2, b: 3 })).toMatchObject({
      content: "The sum of 2 and 3 is 5.",
    });
    await kill(first.child);
    const second = await startEverything("streamableHttp", port);
    expect(await use(tools, "web__echo", { message: "met?" })).toMatchObject({ content: "Echo: met?" });
    await kill(second.child);
    expect(await use(tools, "web__echo", { message: "gone?" })).toMatchObject({
      isError: true,
      content: expect.stringMatching(/"web" broke off.*may or may not have taken effect/s),
    });
    expect((await use(tools, "web__echo", { message: "gone?" })).content).toMatch(/"web" cannot be used/);
    time += 60_000;
    await startEverything("streamableHttp", port);
    expect(await use(tools, "web__echo", { message: "back" })).toMatchObject({ content: "Echo: back" });
  });

  it("that speaks only the older way is reached by it", async () => {
    const { port } = await startEverything("sse");
    const { tools, problems } = await connect({ old: { url: `http://127.0.0.1:${port}/sse` } });
    expect(problems.filter((problem) => !problem.includes("only as an MCP task"))).toEqual([]);
    expect(await use(tools, "old__echo", { message: "hello" })).toMatchObject({ content: "Echo: hello" });
  });
});

describe("a server that cannot be used", () => {
  it("is told of in words and does not keep the others from working", async () => {
    const { tools, problems } = await connect(
      {
        good: hostile(),
        missing: { command: "/nowhere/at/all" },
        crashes: hostile("crash-start"),
        mute: hostile("mute"),
        nobody: { url: "http://127.0.0.1:9/mcp", headers: { authorization: `Bearer ${KEY}` } },
        off: { command: "/never/started", disabled: true },
      },
      { startMs: 3000 },
    );
    expect(await use(tools, "good__echo", { a: 1 })).toMatchObject({ content: '{"a":1}' });
    const of = (name: string) => problems.filter((problem) => problem.includes(`"${name}"`));
    for (const name of ["missing", "crashes", "mute", "nobody"]) {
      expect(of(name), name).toEqual([expect.stringMatching(/^The MCP server ".*" cannot be used: ./)]);
    }
    expect(of("missing")[0]).toContain("ENOENT");
    expect(of("off")).toEqual([]);
    expect(problems.join("\n")).not.toContain(KEY);
  });

  it("is found out when the file is wrong, with the place and what would be right", async () => {
    const given: McpConfig = JSON.parse(
      '{"mcpServers":{"a":{"command":7},"b":{"url":"ftp://x"},"c":{},"d":{"url":"http://127.0.0.1:9/","kommand":1}}}',
    );
    const { problems } = await connectMcp(given, { now: () => time });
    const all = problems.join("\n");
    expect(all).toContain("mcpServers.a.command: expected a string");
    expect(all).toContain("mcpServers.b.url:");
    expect(all).toContain("mcpServers.c.command:");
    expect(all).toContain("mcpServers.d.kommand: no such field");
    const empty = await connectMcp(JSON.parse("[]"), { now: () => time });
    expect(empty.problems[0]).toContain('{ "mcpServers":');
  });
});

describe("a hostile server", () => {
  it("gets names that every model API takes, each once", async () => {
    const { tools, problems } = await connect({ "my server": hostile() });
    const names = tools.map(({ name }) => name);
    expect(names).toContain("my_server__with_spaces___more");
    expect(names.filter((name) => !/^[a-zA-Z0-9_-]{1,64}$/.test(name))).toEqual([]);
    expect(new Set(names).size).toBe(17);
    expect(problems).toHaveLength(3);
    expect(problems.join("\n")).toContain('its tool "no_schema" is left out');
  });

  it("sees of our environment only what was named", async () => {
    process.env.LONGHAND_TEST_SECRET = "do not look";
    const { tools } = await connect({ h: hostile() });
    const seen = (await use(tools, "h__env")).content.split(" ");
    delete process.env.LONGHAND_TEST_SECRET;
    expect(seen).toContain("KEY");
    const harmless = ["HOME", "KEY", "LOGNAME", "PATH", "SHELL", "TERM", "USER"];
    expect(seen.filter((name) => !harmless.includes(name))).toEqual([]);
  });

  it("that crashes in a call is started anew at the next use, and given pauses when it keeps crashing", async () => {
    const { tools } = await connect({ h: hostile() });
    const first = (await use(tools, "h__pid")).content;
    expect(await use(tools, "h__crash")).toMatchObject({
      isError: true,
      content: expect.stringMatching(/"h" broke off.*may or may not have taken effect/s),
    });
    const second = (await use(tools, "h__pid")).content;
    expect(second).toMatch(/^\d+$/);
    expect(second).not.toBe(first);
    await use(tools, "h__crash");
    expect((await use(tools, "h__pid")).content).toMatch(/^\d+$/);
    await use(tools, "h__crash");
    await use(tools, "h__crash");
    expect((await use(tools, "h__pid")).content).toMatch(/is down \(.*\); it is tried again in 1 s/);
    time += 1000;
    expect((await use(tools, "h__pid")).content).toMatch(/^\d+$/);
  });

  it("cannot have a call made twice by saying it never heard of us", async () => {
    const lines: string[] = [];
    const { tools } = await connect({ h: hostile() }, { log: (_, line) => lines.push(line) });
    expect(await use(tools, "h__forget")).toMatchObject({
      isError: true,
      content: expect.stringContaining("I do not know you"),
    });
    await until(() => lines.includes("it was done"));
    expect(await use(tools, "h__echo", { a: 1 })).toMatchObject({ content: '{"a":1}' });
    expect(lines.filter((line) => line === "it was done")).toHaveLength(1);
  });

  it("that hangs holds up only the call that hangs", async () => {
    const { tools } = await connect({ h: hostile() });
    const stop = new AbortController();
    const hanging = use(tools, "h__hang", {}, stop.signal);
    expect(await use(tools, "h__echo", { still: "here" })).toMatchObject({ content: '{"still":"here"}' });
    stop.abort();
    expect(await hanging).toMatchObject({ isError: true });
    expect(await use(tools, "h__echo", { still: "here" })).toMatchObject({ isError: false });
  });

  it("that hangs altogether is started anew", async () => {
    const { tools } = await connect({ h: hostile() }, { startMs: 2000 });
    const first = (await use(tools, "h__pid")).content;
    await use(tools, "h__freeze", {}, AbortSignal.timeout(50));
    const second = await use(tools, "h__pid", {}, AbortSignal.timeout(10_000));
    expect(second.isError).toBe(true);
    expect((await use(tools, "h__pid")).content).toMatch(/^\d+$/);
    expect((await use(tools, "h__pid")).content).not.toBe(first);
  });

  it("that floods us is cut off and can be used again", async () => {
    const { tools } = await connect({ h: hostile() });
    expect(await use(tools, "h__flood")).toMatchObject({ isError: true });
    expect(await use(tools, "h__echo", { a: 1 })).toMatchObject({ content: '{"a":1}' });
  });

  it("that gives garbage gives a result all the same, and nothing is left out in silence", async () => {
    const { tools } = await connect({ h: hostile() });
    const { content, images } = await use(tools, "h__garbage");
    expect(images).toBe(undefined);
    expect(content.match(/\[image left out: /g)).toHaveLength(2);
    expect(content).toContain('[content of the type "dance" was left out]');
    expect(content).toContain("[3 bytes of application/zip, not shown]");
    expect(content).toContain("and \uFFFD a \uFFFD bit");
    expect(await use(tools, "h__empty")).toMatchObject({
      isError: false,
      content: expect.stringContaining("nothing"),
    });
    expect(await use(tools, "h__noise")).toMatchObject({ content: "after the noise" });
  });

  it("that lists tools without end is listened to only so long", async () => {
    const { tools, problems } = await connect({ h: hostile("endless") });
    expect(tools.length).toBe(100);
    expect(problems).toEqual([
      'The MCP server "h": its list of tools has no end; only 100 pages of it are used',
    ]);
  });

  it("whose tools change changes the one list everybody holds", async () => {
    const { tools } = await connect({ h: hostile() });
    const before = tools.length;
    await use(tools, "h__grow");
    await until(() => tools.length === before + 1);
    expect(tools.at(-1)?.name).toMatch(/^h__grown/);
  });

  it("fills no log, and tells nobody the key it was given", async () => {
    const lines: string[] = [];
    const { tools } = await connect({ h: hostile() }, { log: (_, line) => lines.push(line) });
    await use(tools, "h__talk");
    await until(() => lines.some((line) => line.includes("it says more")));
    expect(lines.length).toBe(100);
    expect(lines[0]).toBe("line 0 with [secret]");
    const failure = await use(tools, "h__fail");
    expect(failure).toMatchObject({
      isError: true,
      content: expect.stringContaining("no luck with [secret]"),
    });
    expect(lines.join("\n")).not.toContain(KEY);
  });

  it("is gone when we close", async () => {
    const mcp = await connect({ h: hostile() });
    const pid = Number((await use(mcp.tools, "h__pid")).content);
    await mcp.close();
    expect(() => process.kill(pid, 0)).toThrow("ESRCH");
    expect(await use(mcp.tools, "h__echo")).toMatchObject({
      isError: true,
      content: expect.stringContaining("closed"),
    });
  });

  it("does not end the turn: the model is told, and answers", async () => {
    const { tools } = await connect({ h: hostile() });
    const server = await startChatCompletionsServer();
    const calls = ["h__echo", "h__crash"].map((name, index) => ({
      index,
      id: `c${index}`,
      type: "function",
      function: { name, arguments: "{}" },
    }));
    server.script = {
      body: eventStream([chunk({ role: "assistant", tool_calls: calls }), chunk({}, "tool_calls")]),
    };
    const host = new MemoryHost(model({ api: "openai-chat", id: "m", baseUrl: server.baseUrl }));
    host.onToolDone = () => {
      server.script = {
        body: eventStream([chunk({ role: "assistant", content: "I see." }), chunk({}, "stop")]),
      };
    };
    const end = await runAgent(host, { tools, limits: LIMITS }, new AbortController().signal);
    await server.close();
    expect(end).toEqual({ status: "answered" });
    expect(host.results).toEqual(["{}", expect.stringMatching(/may or may not have taken effect/)]);
    expect(server.requests[1]?.body.toString()).toContain("may or may not have taken effect");
  });
});
