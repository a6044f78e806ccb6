import { expect, test } from "vitest";
import {
  AssistantMessage,
  BranchSummaryMessage,
  CompactionSummaryMessage,
  CustomMessage,
  HostMessage,
  SystemMessage,
  TextContent,
  ThinkingContent,
  ToolCallContent,
  ToolMessage,
  ToolResultContent,
  Usage,
  UserMessage,
} from "./index.js";

const envelope = { usage: Usage.none(), stopReason: "stop", provider: "p", api: "a", model: "m" } as const;

test("a text message is plain data with an id and a time", () => {
  const message = UserMessage.text("hi");
  expect(message).toEqual({
    role: "user",
    contents: [{ type: "text", content: "hi" }],
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    timestamp: expect.any(Number),
  });
  expect(JSON.parse(JSON.stringify(message))).toEqual(message);
});

test("a factory takes the id, time, sender and metadata it is given", () => {
  const metadata = {
    source: "web",
    sender_id: "web:1",
    sender_display_name: "Olivia",
    sender_type: "human",
  } as const;
  const message = UserMessage.text("hi", { id: "one", timestamp: 7, sender: "web:1", metadata });
  expect(message).toEqual({
    role: "user",
    contents: [TextContent.of("hi")],
    id: "one",
    timestamp: 7,
    sender: "web:1",
    metadata,
  });
});

test("the id a factory makes tells the time of the message", () => {
  const late = UserMessage.text("b", { timestamp: 1_700_000_000_000 });
  const early = UserMessage.text("a", { timestamp: 1_000_000_000_000 });
  expect(early.id < late.id).toBe(true);
});

test("pictures and sound follow the text they came with", () => {
  const picture = new Uint8Array([0xff, 0xd8, 0xff]);
  expect(UserMessage.withImages("look", [picture, "https://example.org/a.png"]).contents).toEqual([
    { type: "text", content: "look" },
    { type: "image", images: [picture, "https://example.org/a.png"] },
  ]);
  expect(UserMessage.withAudio("listen", ["SUQz"]).contents).toEqual([
    { type: "text", content: "listen" },
    { type: "audio", audio: ["SUQz"] },
  ]);
});

test("an answer tells its text, its calls and its thoughts", () => {
  const first = ToolCallContent.of("t1", "search", { q: "boats" });
  const second = ToolCallContent.of("t2", "now");
  const answer = AssistantMessage.of(
    [ThinkingContent.of("hm", "sig"), TextContent.of("Let me "), first, TextContent.of("look."), second],
    envelope,
  );
  expect(AssistantMessage.textContent(answer)).toBe("Let me look.");
  expect(AssistantMessage.toolCalls(answer)).toEqual([first, second]);
  expect(AssistantMessage.thinking(answer)).toEqual([{ type: "thinking", content: "hm", signature: "sig" }]);
});

test("an answer keeps the id and time it is given, and gets both when it has none", () => {
  expect(AssistantMessage.of([], { ...envelope, id: "x", timestamp: 3 })).toMatchObject({
    id: "x",
    timestamp: 3,
  });
  expect(AssistantMessage.of([], envelope)).toMatchObject({
    id: expect.any(String),
    timestamp: expect.any(Number),
  });
});

test("one result or a whole batch make one tool message", () => {
  const one = ToolResultContent.of("t1", "42");
  const two = ToolResultContent.error("t2", "no such tool");
  expect(ToolMessage.fromResult(one)).toMatchObject({ role: "tool", contents: [one] });
  expect(ToolMessage.fromResults([one, two]).contents).toEqual([one, two]);
});

test("a result is no error, ends nothing and carries nothing, unless said otherwise", () => {
  expect(ToolResultContent.of("t1", "42")).toEqual({
    type: "tool_result",
    id: "t1",
    content: "42",
    isError: false,
    metadata: {},
    terminate: false,
  });
  expect(ToolResultContent.error("t1", "boom").isError).toBe(true);
  expect(ToolResultContent.of("t1", "done", { terminate: true, metadata: { ms: 4 } })).toMatchObject({
    terminate: true,
    metadata: { ms: 4 },
  });
});

test("every other role has its factory", () => {
  const at = { id: "i", timestamp: 1 };
  const contents = [TextContent.of("words")];
  expect(SystemMessage.text("words", at)).toEqual({ role: "system", contents, ...at });
  expect(HostMessage.text("words", at)).toEqual({ role: "host", contents, ...at });
  expect(BranchSummaryMessage.text("words", at)).toEqual({ role: "branch_summary", contents, ...at });
  expect(CompactionSummaryMessage.text("words", at)).toEqual({ role: "compaction_summary", contents, ...at });
  expect(CustomMessage.of("poll", contents, at)).toEqual({
    role: "custom",
    customType: "poll",
    contents,
    ...at,
  });
});
