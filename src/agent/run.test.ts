import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ToolCallContent, ToolResultContent } from "../message/index.js";
import type { Model } from "../provider/codec.js";
import { model } from "../provider/model.js";
import { LIMITS, MemoryHost } from "../testing/agentHost.js";
import {
  type ChatCompletionsServer,
  chunk,
  eventStream,
  type ServerScript,
  startChatCompletionsServer,
} from "../testing/chatCompletionsServer.js";
import { startDeadline } from "./deadline.js";
import type { AgentLimits, UnfinishedBatch } from "./host.js";
import type { Used } from "./limitsLeft.js";
import { stopOf } from "./modelCall.js";
import { runAgent } from "./run.js";
import type { Tool } from "./tool.js";

let server: ChatCompletionsServer;
let chat: Model;
let host: MemoryHost;
beforeAll(async () => {
  server = await startChatCompletionsServer();
  chat = model({ api: "openai-chat", id: "main", baseUrl: server.baseUrl });
});
afterAll(() => server.close());
beforeEach(() => {
  server.requests.length = 0;
  host = new MemoryHost(chat);
});

const says = (text: string, finish = "stop"): ServerScript => ({
  body: eventStream([chunk({ role: "assistant", content: text }), chunk({}, finish)]),
});
const callsTools = (names: readonly string[], finish = "tool_calls"): ServerScript => ({
  body: eventStream([
    chunk({
      role: "assistant",
      tool_calls: names.map((name, index) => ({
        index,
        id: `c${index}`,
        type: "function",
        function: { name, arguments: "{}" },
      })),
    }),
    chunk({}, finish),
  ]),
});
const fails = (status: number, headers: Record<string, string> = {}): ServerScript => ({
  status,
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify({ error: { message: `status ${status}` } }),
});

/** One script for each request, in order. */
function play(...scripts: ServerScript[]): void {
  Object.defineProperty(server, "script", {
    configurable: true,
    get: () => scripts.shift() ?? says("There is no script left."),
  });
}

const tool = (name: string, run: Tool["run"], more: Partial<Tool> = {}): Tool => ({
  name,
  description: name,
  parameters: { type: "object" },
  repeatable: false,
  run,
  ...more,
});
type More = { limits?: Partial<AgentLimits>; unfinished?: UnfinishedBatch | null; used?: Used | null };
const run = (
  tools: Tool[] = [],
  { limits, unfinished = null, used = null }: More = {},
  signal = new AbortController().signal,
) => runAgent(host, { tools, limits: { ...LIMITS, ...limits }, unfinished, used }, signal);
const sent = (index: number): string => server.requests[index]?.body.toString("utf8") ?? "";
const models = () => server.requests.map(({ body }) => JSON.parse(body.toString("utf8")).model);

describe("a turn", () => {
  it("is one call when the model just answers, and holds its place only for that long", async () => {
    play(says("Good evening to you."));
    expect(await run()).toEqual({ status: "answered" });
    expect(host.events).toEqual([
      "slot model",
      "request model",
      "record main attempt 1",
      "free",
      "answered stop",
    ]);
    expect(host.answers[0]?.last).toBe(true);
    expect(host.sleeping).toBe(0);
  });

  it("runs tools side by side, gives their results back in the order of the calls, and calls again", async () => {
    play(callsTools(["slow", "quick"]), says("Both are done."));
    let finishSlow = (_: string) => {};
    const slow = tool("slow", () => new Promise<string>((resolve) => (finishSlow = resolve)));
    const quick = tool("quick", async () => "quick result");
    host.onToolDone = (index) => index === 1 && finishSlow("slow result");
    expect(await run([slow, quick])).toEqual({ status: "answered" });
    expect(host.done.map(({ index }) => index)).toEqual([1, 0]);
    expect(host.results).toEqual(["slow result", "quick result"]);
    expect(host.answers.map(({ last }) => last)).toEqual([false, true]);
    expect(sent(1).indexOf("slow result")).toBeLessThan(sent(1).indexOf("quick result"));
  });

  it("runs no tool of an answer that was cut at its length", async () => {
    play(callsTools(["danger"], "length"));
    let ran = 0;
    const danger = tool("danger", async () => `${ran++}`);
    expect(await run([danger])).toEqual({ status: "answered" });
    expect(ran).toBe(0);
    expect(host.answers[0]).toMatchObject({ last: true, message: { stopReason: "length" } });
  });

  it("goes on when somebody said something while it answered, or while a tool ran", async () => {
    play(says("First."), callsTools(["clock"]), says("Last."));
    host.said.push("Wait, one more thing");
    const clock = tool("clock", async () => {
      host.said.push("And hurry");
      return { content: "six", terminate: true };
    });
    expect(await run([clock])).toEqual({ status: "answered" });
    expect(sent(1)).toContain("Wait, one more thing");
    expect(sent(2)).toContain("And hurry");
    expect(server.requests).toHaveLength(3);
  });

  it("ends without another call when every result of a batch asks for it, and only then", async () => {
    const ends = tool("ends", async () => ({ content: "sent", terminate: true }));
    const goes = tool("goes", async () => "here");
    play(callsTools(["ends", "ends"]));
    expect(await run([ends, goes])).toEqual({ status: "answered" });
    expect(server.requests).toHaveLength(1);
    expect(host.batches[0]?.last).toBe(true);
    play(callsTools(["ends", "goes"]), says("More to say."));
    expect(await run([ends, goes])).toEqual({ status: "answered" });
    expect(server.requests).toHaveLength(3);
  });

  it("is refused before anything is sent when the budget is spent", async () => {
    host.refusal = "the chat's budget for today is spent";
    expect(await run()).toEqual({ status: "refused", why: "the chat's budget for today is spent" });
    expect(server.requests).toHaveLength(0);
    expect(host.events.at(-1)).toBe("free");
  });
});

describe("a model that fails", () => {
  it("is asked again after a growing pause, without holding its place meanwhile", async () => {
    play(fails(503), fails(503), says("Here I am."));
    expect(await run()).toEqual({ status: "answered" });
    expect(host.events.filter((event) => /^(slot|free|sleep|record)/.test(event))).toEqual([
      "slot model",
      "record main attempt 1",
      "free",
      "sleep 500",
      "slot model",
      "record main attempt 2",
      "free",
      "sleep 1000",
      "slot model",
      "record main attempt 3",
      "free",
    ]);
    expect(host.answers.map(({ last }) => last)).toEqual([false, false, true]);
  });

  it("is asked again when it said it would be back", async () => {
    play(fails(429, { "retry-after": "7" }), says("Back."));
    expect(await run()).toEqual({ status: "answered" });
    expect(host.events).toContain("sleep 7000");
  });

  it("is not waited for longer than there is time", async () => {
    play(fails(429, { "retry-after": "7000" }));
    expect(await run()).toMatchObject({ status: "failed", message: { errorKind: "rate_limit" } });
    expect(host.events.filter((event) => event.startsWith("sleep"))).toEqual([]);
    expect(server.requests).toHaveLength(1);
  });

  it("is given up after its attempts, and the reason is kept", async () => {
    play(fails(503), fails(503), fails(503), says("too late"));
    expect(await run()).toMatchObject({ status: "failed", message: { errorKind: "overloaded" } });
    expect(server.requests).toHaveLength(3);
  });

  it("is not asked again when it refused the key; the fallback answers, and stays for the rest of the turn", async () => {
    host.fallback = model({ api: "openai-chat", id: "spare", baseUrl: server.baseUrl });
    play(fails(401), callsTools(["clock"]), says("From the spare one."));
    expect(await run([tool("clock", async () => "six")])).toEqual({ status: "answered" });
    expect(models()).toEqual(["main", "spare", "spare"]);
    expect(host.events.filter((event) => event.startsWith("sleep"))).toEqual([]);
  });

  it("fails the turn when the fallback fails too, after attempts of its own", async () => {
    host.fallback = model({ api: "openai-chat", id: "spare", baseUrl: server.baseUrl });
    play(fails(401), fails(503), fails(503), fails(503), says("too late"));
    expect(await run()).toMatchObject({
      status: "failed",
      message: { model: "spare", errorKind: "overloaded" },
    });
    expect(models()).toEqual(["main", "spare", "spare", "spare"]);
    expect(host.events).toContain("record spare attempt 1");
  });

  it("that hangs up in the middle of a word leaves that word, and answers on the second try", async () => {
    const cut = { ...says("Good ev"), ending: "reset" as const };
    play({ ...cut, cutAt: Buffer.byteLength(String(cut.body)) - 40 }, says("Good evening."));
    expect(await run()).toEqual({ status: "answered" });
    expect(host.answers.map(({ message }) => message.stopReason)).toEqual(["error", "stop"]);
    expect(host.answers[0]?.message.contents).toMatchObject([{ type: "text", content: "Good ev" }]);
  });
});

describe("limits", () => {
  it("of steps end a turn that never stops calling tools", async () => {
    play(...Array.from({ length: 5 }, () => callsTools(["clock"])));
    const end = await run([tool("clock", async () => "six")], { limits: { steps: 4 } });
    expect(end).toEqual({ status: "out_of_steps" });
    expect(server.requests).toHaveLength(4);
    expect(host.batches).toHaveLength(4);
  });

  it("of time break off the call in flight and keep what it had said", async () => {
    play({
      ...says("Let me think"),
      ending: "silence",
      cutAt: Buffer.byteLength(String(says("Let me think").body)) - 40,
    });
    host.onDelta = () => host.pass(LIMITS.timeMs);
    expect(await run()).toEqual({ status: "out_of_time" });
    expect(host.answers).toMatchObject([
      { last: false, message: { stopReason: "aborted", contents: [{ content: "Let me think" }] } },
    ]);
    expect(host.events.at(-2)).toBe("free");
  });

  it("of time end a tool that hangs, and its results are still handed in", async () => {
    play(callsTools(["hangs"]));
    const hangs = tool(
      "hangs",
      () => {
        host.pass(LIMITS.timeMs);
        return new Promise(() => {});
      },
      { timeoutMs: 10 * LIMITS.timeMs },
    );
    expect(await run([hangs])).toEqual({ status: "out_of_time" });
    expect(host.results[0]).toMatch(/stopped before it finished.*may or may not/s);
    expect(server.requests).toHaveLength(1);
  });

  it("of money end a turn before the next call", async () => {
    expect(await run([], { limits: { usd: 0 } })).toEqual({ status: "out_of_money" });
    expect(server.requests).toHaveLength(0);
    const deadline = startDeadline(host, Number.POSITIVE_INFINITY, new AbortController().signal);
    const limits = { ...LIMITS, usd: 0.5 };
    const underway = { host, tools: [], limits, deadline, choice: "model" as const };
    expect(stopOf({ ...underway, steps: 0, spentUsd: 0.4 })).toBe(null);
    expect(stopOf({ ...underway, steps: 0, spentUsd: 0.5 })).toEqual({ status: "out_of_money" });
  });
});

describe("a run that goes on after a crash", () => {
  const used = { steps: 0, timeMs: 0, usd: 0 };

  it("has the steps that are left", async () => {
    play(...Array.from({ length: 5 }, () => callsTools(["clock"])));
    const given = { limits: { steps: 4 }, used: { ...used, steps: 3 } };
    expect(await run([tool("clock", async () => "six")], given)).toEqual({ status: "out_of_steps" });
    expect(server.requests).toHaveLength(1);
  });

  it("has the time that is left, and begins nothing when there is none", async () => {
    play({ ...says("Hm"), ending: "silence", cutAt: Buffer.byteLength(String(says("Hm").body)) - 40 });
    host.onDelta = () => host.pass(LIMITS.timeMs - 300_000);
    expect(await run([], { used: { ...used, timeMs: 300_000 } })).toEqual({ status: "out_of_time" });
    expect(await run([], { used: { ...used, timeMs: LIMITS.timeMs } })).toEqual({ status: "out_of_time" });
    expect(server.requests).toHaveLength(1);
  });

  it("has the money that is left", async () => {
    const end = await run([], { limits: { usd: 1 }, used: { ...used, usd: 1.5 } });
    expect(end).toEqual({ status: "out_of_money" });
    expect(server.requests).toHaveLength(0);
  });
});

describe("a stop", () => {
  it("breaks off the answer and keeps what was said", async () => {
    const stop = new AbortController();
    play({
      ...says("Once upon a time"),
      ending: "silence",
      cutAt: Buffer.byteLength(String(says("Once upon a time").body)) - 40,
    });
    host.onDelta = () => stop.abort();
    expect(await run([], {}, stop.signal)).toEqual({ status: "stopped" });
    expect(host.answers).toMatchObject([
      { last: false, message: { stopReason: "aborted", contents: [{ content: "Once upon a time" }] } },
    ]);
    expect(host.sleeping).toBe(0);
  });

  it("ends the wait for another try", async () => {
    const stop = new AbortController();
    play(fails(503), says("too late"));
    host.onSleep = () => stop.abort();
    expect(await run([], {}, stop.signal)).toEqual({ status: "stopped" });
    expect(server.requests).toHaveLength(1);
  });

  it("while tools run keeps the finished results and says of the others that nobody knows", async () => {
    const stop = new AbortController();
    play(callsTools(["quick", "hangs"]));
    host.onToolDone = () => stop.abort();
    const quick = tool("quick", async () => "quick result");
    let told = false;
    const hangs = tool("hangs", (_, { signal }) => {
      signal.addEventListener("abort", () => (told = true));
      return new Promise(() => {});
    });
    expect(await run([quick, hangs], {}, stop.signal)).toEqual({ status: "stopped" });
    expect(host.results).toEqual(["quick result", expect.stringMatching(/may or may not have taken effect/)]);
    expect(host.batches[0]?.uses.map(({ result }) => result.isError)).toEqual([false, true]);
    expect(told).toBe(true);
  });

  it("in the last step is a stop, not the end of the steps", async () => {
    const stop = new AbortController();
    play(callsTools(["stops"]));
    const stops = tool("stops", async () => {
      stop.abort();
      return "done";
    });
    expect(await run([stops], { limits: { steps: 1 } }, stop.signal)).toEqual({ status: "stopped" });
  });

  it("that came before the first call makes none", async () => {
    expect(await run([], {}, AbortSignal.abort())).toEqual({ status: "stopped" });
    expect(host.events).toEqual([]);
  });
});

describe("a batch that a crash cut short", () => {
  const wanted = (id: string, name: string) => ToolCallContent.of(id, name);

  it("runs again only what may run twice; the model is told of the rest", async () => {
    play(says("I see."));
    const ran: string[] = [];
    const read = tool("read", async () => `${ran.push("read")}`, { repeatable: true });
    const pay = tool("pay", async () => `${ran.push("pay")}`);
    const unfinished: UnfinishedBatch = {
      callId: "call_before",
      uses: [
        { wanted: wanted("a", "pay"), result: null },
        { wanted: wanted("b", "read"), result: null },
        { wanted: wanted("c", "pay"), result: ToolResultContent.of("c", "paid") },
        { wanted: wanted("d", "gone"), result: null },
      ],
    };
    expect(await run([read, pay], { unfinished })).toEqual({ status: "answered" });
    expect(ran).toEqual(["read"]);
    expect(host.batches[0]?.callId).toBe("call_before");
    const interrupted = expect.stringMatching(/interrupted by a restart.*may or may not have taken effect/s);
    expect(host.results).toEqual([interrupted, "1", "paid", interrupted]);
    expect(host.done.map(({ index }) => index)).toEqual([1]);
  });

  it("ends the turn when its results asked for that", async () => {
    const result = ToolResultContent.of("a", "sent", { terminate: true });
    const unfinished = { callId: "x", uses: [{ wanted: wanted("a", "send"), result }] };
    expect(await run([], { unfinished })).toEqual({ status: "answered" });
    expect(server.requests).toHaveLength(0);
  });
});
