import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { UserMessage } from "../message/index.js";
import { encode } from "../provider/call.js";
import { containerModel, encodeContinue, encodeSteer } from "../provider/container.js";
import { readEvent } from "./containerEvent.js";
import { type ContainerEvent, containerSchema, usageFrom, usageTold } from "./containerProtocol.js";

const FILE = join(import.meta.dirname, "../../docs/container.schema.json");

describe("the protocol's JSON Schema", () => {
  // LONGHAND_WRITE=1 npx vitest run src/agent/containerProtocol.test.ts
  it("stands in the docs as it is in the code", () => {
    const current = `${JSON.stringify(containerSchema(), null, 2)}\n`;
    if (process.env.LONGHAND_WRITE === "1") writeFileSync(FILE, current);
    expect(readFileSync(FILE, "utf8")).toBe(current);
  });

  it("takes what we write and what a container may write, and nothing else", () => {
    const check = new Ajv2020({ strict: false }).compile(JSON.parse(readFileSync(FILE, "utf8")));
    const model = containerModel("helper", { steps: 1, timeMs: 1, idleMs: 1, model: null });
    const request = { system: "Be kind.", messages: [UserMessage.text("hello")] };
    const events: Partial<ContainerEvent>[] = [
      { type: "text", delta: "x" },
      { type: "tool_use", id: "a", name: "b" },
      { type: "run_tools" },
      { type: "tool_result", id: "a", content: "" },
      { type: "result" },
      { type: "error", message: "x" },
      { type: "alive" },
    ];
    const lines = [encode(model, request), encodeSteer(request, () => true), encodeContinue()];
    for (const line of [...lines.map(({ body }) => JSON.parse(body)), ...events]) {
      expect(check(line), JSON.stringify(line)).toBe(true);
    }
    for (const wrong of [
      {},
      { type: "text" },
      { type: "tool_use", id: "", name: "x" },
      { type: "nonsense" },
    ]) {
      expect(check(wrong), JSON.stringify(wrong)).toBe(false);
    }
  });
});

describe("usage", () => {
  it("that would break the sums of a budget is no event", () => {
    for (const usage of [{ input_tokens: 2 ** 53 - 1 }, { cost_usd: 1e308 }, { output_tokens: -1 }]) {
      expect(readEvent(JSON.stringify({ type: "usage", usage })), JSON.stringify(usage)).toEqual(
        expect.any(String),
      );
    }
  });

  it("comes through the protocol as it was", () => {
    const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0.25 };
    const usage = {
      inputTokens: 1,
      outputTokens: 2,
      cacheReadTokens: 3,
      cacheWriteTokens: 4,
      reasoningTokens: 1,
      cost,
    };
    expect(usageFrom(usageTold(usage))).toEqual(usage);
    const { reasoningTokens: _, ...plain } = { ...usage, cost: null };
    expect(usageFrom(usageTold(plain))).toEqual(plain);
  });
});
