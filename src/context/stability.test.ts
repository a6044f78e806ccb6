import fc from "fast-check";
import { expect, test } from "vitest";
import { assemble } from "./assemble.js";
import { CHAT, type Scene, scene } from "../testing/scene.js";

/** Until a declared break, what a model saw is a prefix of what it sees next, byte for byte. */
const RUNS = process.env.LONGHAND_LONG ? 20_000 : 300;

const names = fc.constantFrom("Olivia", "Max", "olivia", "[Max]: x", "");
const sender = fc.constantFrom("slack:U1", "slack:U2", "slack:U3");
const words = fc.constantFrom("hi", "@Longhand, hi", "[Olivia]: hm\n\r[Time: x]", "@lh", "a\nb");
const happening = fc.oneof(
  fc.record({ type: fc.constant("person" as const), sender, names, words, pause: fc.nat(20_000_000) }),
  fc.record({ type: fc.constant("answer" as const), words, failed: fc.boolean(), stopped: fc.boolean() }),
  fc.record({ type: fc.constant("edit" as const), words }),
  fc.record({ type: fc.constant("custom" as const) }),
  fc.record({ type: fc.constant("system" as const), words }),
);
type Happening = typeof happening extends fc.Arbitrary<infer T> ? T : never;

test("every request extends the one before it, whoever speaks and whatever fails", () => {
  fc.assert(
    fc.property(fc.array(happening, { minLength: 1, maxLength: 12 }), (story) => {
      const chat = scene();
      const notices = [{ id: "n", text: "the same in every call" }];
      let before = assemble(chat.input({ notices }));
      for (const one of story) {
        happen(one, chat);
        const after = assemble(chat.input({ notices }));
        expect(after.system).toEqual(before.system);
        expect(JSON.stringify(after.messages.slice(0, before.messages.length))).toBe(
          JSON.stringify(before.messages),
        );
        before = after;
      }
      // The settings move on; what was taken before does not.
      const renamed = { ...CHAT, assistant_name: "Quill", aliases: ["Olivia"], time_zone: "Asia/Tokyo" };
      expect(assemble(chat.input({ notices, chat: renamed })).messages).toEqual(before.messages);
    }),
    { numRuns: RUNS },
  );
}, 3_600_000);

function happen(one: Happening, chat: Scene): void {
  switch (one.type) {
    case "person":
      chat.person(one.sender, one.names, one.words, {
        timestamp: new Date(Date.UTC(2026, 10, 15) + one.pause).toISOString(),
        metadata: { thread_context: one.words },
      });
      return;
    case "edit": {
      const said = chat.path.findLast(({ message }) => message?.message_type === "user")?.message;
      if (said) chat.edit(said, one.words);
      return;
    }
    case "answer":
      chat.answer(
        [
          { sender: "thinking", content: "hm", signature: "s" },
          { sender: "bot", content: one.words },
          { sender: "tool_use", id: "t1", name: "look", args: {} },
          { sender: "tool_use", id: "t2", name: "look", args: {} },
        ],
        one.failed
          ? { status: "error", stop_reason: "error" }
          : one.stopped
            ? { stop_reason: "aborted" }
            : {},
      );
      chat.result("t1", one.words);
      if (!one.stopped) chat.result("t2", one.words);
      return;
    case "custom":
      chat.entry("custom", { custom_type: "x" });
      return;
    case "system":
      chat.own("system", "system", one.words);
  }
}

test("the same input gives the same output, and is left as it was", () => {
  const chat = scene();
  chat.person("slack:U1", "Olivia", "[Max]: hi", { metadata: { thread_context: "x" } });
  chat.answer([{ sender: "tool_use", id: "t1", name: "look", args: {} }]);
  chat.result("t1", "[Max]: x");
  const input = chat.input();
  const copy = structuredClone(input);
  expect(assemble(input)).toEqual(assemble(input));
  expect(input).toEqual(copy);
});

test("a path of 200 messages is assembled whole; how long that takes is printed", () => {
  const chat = scene();
  for (let turn = 0; turn < 100; turn++) {
    chat.person(`slack:U${turn % 5}`, "Olivia", `Hello [x] there\nand more: ${"lorem ipsum ".repeat(15)}`);
    chat.answer([{ sender: "bot", content: "An answer. ".repeat(20) }]);
  }
  const input = chat.input();
  const times = Array.from({ length: 200 }, () => {
    const start = performance.now();
    assemble(input);
    return performance.now() - start;
  }).sort((a, b) => a - b);
  expect(assemble(input).messages).toHaveLength(200);
  console.log(`assembling 200 messages: ${times[100]?.toFixed(2)} ms (median; target 2 ms)`);
});
