import { describe, expect, it } from "vitest";
import { ToolCallContent } from "../message/index.js";
import { model } from "../provider/model.js";
import { LIMITS, MemoryHost } from "../testing/agentHost.js";
import { freshBatch, runBatch } from "./batch.js";
import { startDeadline } from "./deadline.js";
import type { ToolUse } from "./host.js";
import type { Run } from "./modelCall.js";
import type { Tool, ToolContext } from "./tool.js";
import { MAX_TEXT_BYTES } from "./toolResult.js";

const PNG = `data:image/png;base64,${Buffer.from("\x89PNG\r\n\x1a\nrest", "latin1").toString("base64")}`;

const tool = (name: string, run: Tool["run"], more: Partial<Tool> = {}): Tool => ({
  name,
  description: name,
  parameters: { type: "object" },
  repeatable: false,
  run,
  ...more,
});

function runOf(tools: Tool[], stop = new AbortController().signal): Run & { host: MemoryHost } {
  const host = new MemoryHost(model({ api: "demo", id: "demo" }));
  const deadline = startDeadline(host, LIMITS.timeMs, stop);
  return { host, tools, limits: LIMITS, deadline, choice: "model", steps: 0, spentUsd: 0 };
}

/** What comes back for one call of each tool, in order. */
function useAll(run: Run, args: Record<string, unknown> = {}): Promise<ToolUse[]> {
  const calls = run.tools.map(({ name }, index) => ToolCallContent.of(`c${index}`, name, args));
  return runBatch(run, freshBatch("call_1", calls));
}

/** The result of a tool that gives this, whatever its type says. */
async function given(output: unknown) {
  const odd = tool("odd", async () => JSON.parse("null"));
  Object.assign(odd, { run: async () => output });
  const [use] = await useAll(runOf([odd]));
  return use?.result;
}

async function thrown(error: unknown): Promise<string> {
  const [use] = await useAll(
    runOf([
      tool("throws", async () => {
        throw error;
      }),
    ]),
  );
  expect(use?.result.isError).toBe(true);
  return use?.result.content ?? "";
}

describe("a tool", () => {
  it("is not run with arguments that are wrong; the model is told where and what would be right", async () => {
    let ran = 0;
    const parameters = {
      type: "object",
      properties: {
        city: { type: "string" },
        days: { type: "array", items: { type: "integer", maximum: 7 } },
      },
      required: ["city"],
      additionalProperties: false,
    };
    const weather = tool("weather", async () => `${ran++}`, { parameters });
    const [use] = await useAll(runOf([weather]), { days: [1, "two", 9], town: "Aarhus" });
    expect(ran).toBe(0);
    expect(use?.result.isError).toBe(true);
    expect(use?.result.content).toContain("- city: is missing");
    expect(use?.result.content).toContain('- days[1]: expected a whole number, got "two"');
    expect(use?.result.content).toContain("- days[2]: must be <= 7, got 9");
    expect(use?.result.content).toContain("- town: there is no such argument");
    const [right] = await useAll(runOf([weather]), { city: "Aarhus", days: [1] });
    expect(right?.result).toMatchObject({ content: "0", isError: false });
  });

  it("that nobody knows, or whose arguments are no JSON, is an error the model can act on", async () => {
    const run = runOf([tool("clock", async () => "six")]);
    const unparsed = {
      ...ToolCallContent.of("b", "clock"),
      native: { api: "openai-chat", data: { unparsed: true } },
    };
    const uses = await runBatch(run, freshBatch("x", [ToolCallContent.of("a", "clok"), unparsed]));
    expect(uses.map(({ result }) => result.content)).toEqual([
      'There is no tool named "clok". Tools: clock.',
      expect.stringContaining("not valid JSON"),
    ]);
  });

  it("with a schema nobody can read runs all the same", async () => {
    const odd = tool("odd", async () => "ran", {
      parameters: { type: "object", $ref: "https://nowhere.example/x" },
    });
    const [use] = await useAll(runOf([odd]));
    expect(use?.result.content).toBe("ran");
  });

  it("that throws, whatever it throws, is an error in words", async () => {
    expect(await thrown(new Error("the printer is on fire"))).toBe("the printer is on fire");
    expect(await thrown("just words")).toBe("just words");
    expect(await thrown(undefined)).toBe("The tool failed without saying why.");
    expect(await thrown(Object.create(null))).toBe("The tool failed without saying why.");
    expect(await thrown(new Error("x".repeat(10 * MAX_TEXT_BYTES)))).toMatch(/x\n\[cut: /);
    const sync = tool("sync", () => {
      throw new Error("before any promise");
    });
    const [use] = await useAll(runOf([sync]));
    expect(use?.result).toMatchObject({ isError: true, content: "before any promise" });
  });

  it("that hangs is given up at its own limit, or at everybody's, and what it says later is not heard", async () => {
    let late = (_: Error) => {};
    let told = false;
    const hang = (_: unknown, { signal }: ToolContext) => {
      signal.addEventListener("abort", () => {
        told = true;
      });
      return new Promise<string>((_resolve, reject) => {
        late = reject;
      });
    };
    const hangs = tool("hangs", hang, { timeoutMs: 120_000 });
    const other = tool("other", () => new Promise(() => {}));
    const run = runOf([hangs, other]);
    const running = useAll(run);
    await new Promise(setImmediate);
    run.host.pass(120_000);
    await new Promise(setImmediate);
    expect(run.host.done.map(({ index }) => index)).toEqual([0]);
    expect(told).toBe(true);
    run.host.pass(LIMITS.toolMs);
    const uses = await running;
    expect(uses.map(({ result }) => result.content)).toEqual([
      expect.stringMatching(/within 120 s.*may or may not have taken effect/s),
      expect.stringMatching(/within 300 s/),
    ]);
    late(new Error("much too late"));
    await new Promise(setImmediate);
    expect(uses[0]?.result.content).not.toContain("late");
    run.deadline.end();
    expect(run.host.sleeping).toBe(0);
  });
});

describe("a batch", () => {
  it("runs one after another when one of its tools wants that", async () => {
    const order: string[] = [];
    const slow = async (name: string) => {
      order.push(`${name} starts`);
      await new Promise(setImmediate);
      order.push(`${name} ends`);
      return name;
    };
    const a = tool("a", () => slow("a"));
    const b = tool("b", () => slow("b"), { sequential: true });
    await useAll(runOf([a, b]));
    expect(order).toEqual(["a starts", "a ends", "b starts", "b ends"]);
    order.length = 0;
    await useAll(runOf([a, { ...b, sequential: false }]));
    expect(order).toEqual(["a starts", "b starts", "a ends", "b ends"]);
  });

  it("that is stopped says of a tool whose time had not come that it was not run", async () => {
    const stop = new AbortController();
    const first = tool("first", () => {
      stop.abort();
      return new Promise(() => {});
    });
    const second = tool("second", async () => "ran", { sequential: true });
    const uses = await useAll(runOf([first, second], stop.signal));
    expect(uses.map(({ result }) => result.content)).toEqual([
      expect.stringMatching(/stopped before it finished/),
      expect.stringMatching(/was not run/),
    ]);
  });

  it("of one tool is told once, when it is finished; of several, each as it is done", async () => {
    const one = tool("one", async () => "1");
    const alone = runOf([one]);
    await useAll(alone);
    expect(alone.host.done).toEqual([]);
    const both = runOf([one, tool("two", async () => "2")]);
    await useAll(both);
    expect(both.host.done.map(({ use }) => use.result.content)).toEqual(["1", "2"]);
  });

  it("tells its other tools to stop when a result could not be kept", async () => {
    let stopped = false;
    const waits = tool("waits", (_, { signal }) => {
      signal.addEventListener("abort", () => (stopped = true));
      return new Promise(() => {});
    });
    const run = runOf([waits, tool("quick", async () => "1")]);
    run.host.onToolDone = () => {
      throw new Error("the lease was lost");
    };
    await expect(useAll(run)).rejects.toThrow("the lease was lost");
    expect(stopped).toBe(true);
  });
});

describe("what a tool gives", () => {
  it("is a result also when it is no text", async () => {
    expect(await given(undefined)).toMatchObject({
      isError: false,
      content: expect.stringContaining("nothing"),
    });
    expect(await given(42)).toMatchObject({ isError: false, content: "42" });
    expect(await given(null)).toMatchObject({ content: "null" });
    expect(await given({ temperature: 3 })).toMatchObject({ content: '{"temperature":3}' });
    expect(await given({ content: [1, 2] })).toMatchObject({ content: "[1,2]" });
    expect(await given({ images: [PNG] })).toMatchObject({ content: "", images: [PNG] });
  });

  it("is an error when it cannot be written down", async () => {
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    expect(await given(circular)).toMatchObject({
      isError: true,
      content: expect.stringMatching(/cannot be read/),
    });
    expect(await given(() => 1)).toMatchObject({ isError: true });
    const trap = new Proxy(
      {},
      {
        has: () => {
          throw new Error("a trap");
        },
      },
    );
    expect(await given(trap)).toMatchObject({ isError: true, content: expect.stringContaining("a trap") });
  });

  it("is cut when it is more than a model should read, at a whole character, and says so", async () => {
    const result = await given("ü".repeat(MAX_TEXT_BYTES));
    const [kept = "", note] = result?.content.split("\n") ?? [];
    expect(Buffer.byteLength(kept)).toBe(MAX_TEXT_BYTES);
    expect(kept).toBe("ü".repeat(MAX_TEXT_BYTES / 2));
    expect(note).toBe(
      `[cut: the tool gave ${MAX_TEXT_BYTES} characters, of which these are the first ${kept.length}]`,
    );
    const odd = await given(`x${"ü".repeat(MAX_TEXT_BYTES)}`);
    expect(odd?.content.split("\n")[0]).toBe(`x${"ü".repeat(MAX_TEXT_BYTES / 2 - 1)}`);
    expect((await given("x".repeat(MAX_TEXT_BYTES)))?.content).toBe("x".repeat(MAX_TEXT_BYTES));
  });

  it("has no character that cannot be kept", async () => {
    expect((await given("a\0b\ud800c"))?.content).toBe("a\uFFFDb\uFFFDc");
  });

  it("loses what is no image, no audio and no metadata, and says so", async () => {
    const result = await given({
      content: "see",
      images: [PNG, "nonsense!", 7],
      audio: "x",
      metadata: { at: () => 1 },
    });
    expect(result?.images).toEqual([PNG]);
    expect(result?.content).toMatch(
      /see\n\[image 2 left out: .*\]\n\[image 3 left out: .*\]\n\[audio left out: .*\]/,
    );
    expect(result?.metadata).toEqual({ left_out: expect.any(String) });
    expect(result?.audio).toBe(undefined);
  });

  it("is what it was when the tool gave it, whatever the tool does to it later", async () => {
    const metadata = { count: 1 };
    const result = await given({ content: "x", metadata });
    metadata.count = 2;
    expect(result?.metadata).toEqual({ count: 1 });
  });
});
