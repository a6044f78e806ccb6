import { expect, test } from "vitest";
import {
  type AssistantMessage,
  type LLMMessage,
  ToolMessage,
  ToolResultContent,
  UserMessage,
} from "../message/index.js";
import { call, encode, send } from "./call.js";
import { brokenRules } from "../testing/chatCompletionsRules.js";
import type { ModelEvent, ModelRequest, ToolDefinition } from "./codec.js";
import { model } from "./model.js";

const demo = model({ api: "demo", id: "demo", delayMs: 0 });
const clock: ToolDefinition = {
  name: "clock",
  description: "Tells the time.",
  parameters: { type: "object", properties: {} },
};
const search: ToolDefinition = {
  name: "search",
  description: "Looks things up.",
  parameters: {
    type: "object",
    properties: { query: { type: "string" }, limit: { type: "integer" } },
    required: ["query", "limit"],
  },
};

async function ask(
  request: ModelRequest,
): Promise<{ events: ModelEvent[]; message: AssistantMessage; text: string }> {
  const events: ModelEvent[] = [];
  for await (const event of call(demo, request)) events.push(event);
  const done = events.at(-1);
  if (done?.type !== "done") throw new Error("the stream did not end with done");
  const text = done.message.contents
    .flatMap((content) => (content.type === "text" ? [content.content] : []))
    .join("");
  return { events, message: done.message, text };
}
const said = (text: string): LLMMessage => UserMessage.text(text, { id: "u1", timestamp: 1 });

test("the demo thinks, asks the clock, and then tells what it saw", async () => {
  const messages = [said("[Bo]: earlier"), said("[Ann (<@U06>)]: what time\nis it?")];
  const first = await ask({ system: "Be kind.", messages, tools: [search, clock] });
  expect(first.message.stopReason).toBe("tool_use");
  const [thinking, wanted] = first.message.contents;
  expect(thinking).toMatchObject({
    type: "thinking",
    content: expect.stringContaining("Ann"),
    signature: expect.stringMatching(/.{20}/),
  });
  expect(wanted).toMatchObject({ type: "tool_call", name: "clock", args: {} });
  if (wanted?.type !== "tool_call") throw new Error("no call");

  const next = [
    ...messages,
    first.message,
    ToolMessage.fromResult(ToolResultContent.of(wanted.id, "noon, exactly")),
  ];
  const second = await ask({ system: "Be kind.", messages: next, tools: [search, clock] });
  expect(second.message.stopReason).toBe("stop");
  expect(second.text).toContain("Ann spoke last and said “what time is it?”");
  expect(second.text).toContain("“noon, exactly”");
  expect(second.text).toContain("There were 5 messages in the request.");
  expect(second.text).toContain("inspector");
});

test("its thinking goes back to it, signature and all", async () => {
  const { message } = await ask({ messages: [said("[Ann]: hi")], tools: [clock] });
  const [thinking] = message.contents;
  if (thinking?.type !== "thinking") throw new Error("no thinking");
  const { body } = encode(demo, { messages: [said("[Ann]: hi"), message], tools: [clock] });
  expect(brokenRules(body)).toEqual([]);
  expect(body).toContain(thinking.signature);
  const rebuilt = { ...message, contents: message.contents.map(({ native: _, ...content }) => content) };
  expect(encode(demo, { messages: [said("[Ann]: hi"), rebuilt], tools: [clock] }).body).toContain(
    thinking.signature,
  );
});

test("the same request gets the same answer, in small pieces that add up to it", async () => {
  const request = { messages: [said("hello there")] };
  const [one, two] = [await ask(request), await ask(request)];
  expect(one.message.contents).toEqual(two.message.contents);
  const deltas = one.events.flatMap((event) => (event.type === "text" ? [event.delta] : []));
  expect(deltas.length).toBeGreaterThan(10);
  expect(deltas.join("")).toBe(one.text);
  expect(one.text).toContain("The last message was “hello there”.");
});

test("it reads the bytes it is given, not the request they came from", async () => {
  const encoded = encode(demo, { messages: [said("[Ann]: hi")] });
  const changed = { ...encoded, body: encoded.body.replace("[Ann]: hi", "[Eve]: ho") };
  const events: ModelEvent[] = [];
  for await (const event of send(demo, changed)) events.push(event);
  expect(JSON.stringify(events)).toContain("Eve spoke last and said “ho”");
});

test("it fills in what a tool requires", async () => {
  const { message } = await ask({ messages: [said("find it")], tools: [search] });
  expect(message.contents.at(-1)).toMatchObject({
    type: "tool_call",
    name: "search",
    args: { query: "demo", limit: 1 },
  });
});

test("it is free, and counts its tokens", async () => {
  const { message } = await ask({ messages: [said("hi")] });
  expect(message.usage).toMatchObject({ inputTokens: expect.any(Number), cost: { total: 0 } });
  expect(message.usage.inputTokens).toBeGreaterThan(10);
  expect(message.usage.outputTokens).toBeGreaterThan(message.usage.reasoningTokens ?? 0);
});

test("/fail makes it fail like an overloaded server, /long makes it talk", async () => {
  expect((await ask({ messages: [said("[Ann]: please /fail now")] })).message).toMatchObject({
    stopReason: "error",
    errorKind: "overloaded",
  });
  expect((await ask({ messages: [said("[Ann]: /fail"), said("[Ann]: better?")] })).message.stopReason).toBe(
    "stop",
  );
  expect((await ask({ messages: [said("not a/fail")] })).message.stopReason).toBe("stop");
  expect((await ask({ messages: [said("/long")] })).text).toContain("Line 40 of 40");
});

test("nobody speaks for another: an escaped line names no speaker", async () => {
  expect((await ask({ messages: [said("[Ann]: look\n\\[Olivia]: pay me")] })).text).toContain(
    "Ann spoke last and said “look \\[Olivia]: pay me”",
  );
});

test("with a delay it can be stopped half-way", async () => {
  const stopping = new AbortController();
  const slow = model({ api: "demo", id: "demo", delayMs: 1 });
  const events: ModelEvent[] = [];
  for await (const event of call(slow, { messages: [said("/long")] }, { signal: stopping.signal })) {
    events.push(event);
    if (event.type === "text") stopping.abort();
  }
  const done = events.at(-1);
  expect(done).toMatchObject({ type: "done", message: { stopReason: "aborted" } });
  expect(JSON.stringify(done)).not.toContain("Line 40");
});
