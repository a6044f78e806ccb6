import { describe, expect, it } from "vitest";
import { UserMessage } from "../message/index.js";
import { call, encode } from "./call.js";
import type { ModelEvent } from "./codec.js";
import { containerModel } from "./container.js";

const model = containerModel("helper", { steps: 5, timeMs: 1000, idleMs: 500, model: null });
const about = { chat_jid: "home", turn_id: "t1", assistant_name: "Longhand", time_zone: "UTC" };
const first = UserMessage.text("hello");

describe("a container as a model", () => {
  it("is asked in one line, whose blocks tell prompt, notices and messages apart", () => {
    const system = [
      { kind: "system" as const, text: 'Be "kind".', sources: [{ type: "prompt", id: "home" }] },
      { kind: "notice" as const, text: "The oven\nis on.", sources: [{ type: "notice", id: "oven" }] },
    ];
    const { body, blocks } = encode(model, { system, messages: [first], about });
    expect(blocks.map(({ text }) => text).join("")).toBe(body);
    expect(JSON.parse(body)).toMatchObject({
      type: "input",
      system: 'Be "kind".',
      system_notices: ["The oven\nis on."],
      messages: [{ role: "user", id: first.id, contents: [{ type: "text", content: "hello" }] }],
      turn_id: "t1",
    });
    expect(blocks.filter(({ kind }) => kind !== "frame").map(({ kind, sources }) => [kind, sources])).toEqual(
      [
        ["params", []],
        ["system", [{ type: "prompt", id: "home" }]],
        ["notice", [{ type: "notice", id: "oven" }]],
        ["message", [{ type: "message", id: first.id }]],
      ],
    );
  });

  it("reads the same bytes again in the next turn, up to what is new", () => {
    const before = encode(model, { system: "Be kind.", messages: [first], about }).blocks;
    const messages = [first, UserMessage.text("more")];
    const after = encode(model, { system: "Be kind.", messages, about: { ...about, turn_id: "t2" } }).blocks;
    expect(after.slice(0, before.length - 1)).toEqual(before.slice(0, -1));
  });

  it("cannot be asked for a single answer, and says so", async () => {
    let last: ModelEvent | null = null;
    for await (const event of call(model, { messages: [first], about })) last = event;
    expect(last).toMatchObject({
      type: "done",
      message: {
        stopReason: "error",
        errorKind: "invalid_request",
        error: expect.stringContaining("whole turns"),
      },
    });
  });
});
