// Tests of a program that calls a model, before a server that is as strict as the vendor's and fails on demand.
//   node --test examples/testing.mjs
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { AssistantMessage, UserMessage } from "longhand/message";
import { call, model } from "longhand/provider";
import { startAnthropicServer } from "longhand/testing";

/** @type {import("longhand/testing").ModelServer} */
let server;
before(async () => {
  server = await startAnthropicServer();
});
after(() => server.close());

/** The program under test. */
async function ask() {
  const claude = model({ api: "anthropic", id: "claude-sonnet-5", baseUrl: server.baseUrl, apiKey: "any" });
  const timeouts = { idleMs: 200 };
  for await (const event of call(claude, { messages: [UserMessage.text("hi")] }, { timeouts }))
    if (event.type === "done") return event;
  throw new Error("no answer");
}

test("an answer, and the request that got it", async () => {
  server.next({ do: "say", text: "Good morning." });
  const { message } = await ask();
  assert.equal(AssistantMessage.textContent(message), "Good morning.");
  const sent = JSON.parse(String(server.requests.at(-1)?.body));
  assert.deepEqual(sent.messages, [{ role: "user", content: [{ type: "text", text: "hi" }] }]);
});

test("a bad day", async () => {
  server.next(
    { do: "rate-limit", retryAfterS: 7 },
    { do: "overflow" },
    { do: "stall", text: "Good mor" },
    { do: "cut", text: "Good mor" },
  );
  const limited = await ask();
  assert.equal(limited.message.errorKind, "rate_limit");
  assert.equal(limited.retryAfterMs, 7000);
  assert.equal((await ask()).message.errorKind, "overflow");
  assert.equal((await ask()).message.errorKind, "timeout");
  const cut = await ask();
  assert.equal(cut.message.errorKind, "cut");
  assert.equal(AssistantMessage.textContent(cut.message), "Good mor");
});

test("a request the vendor would refuse is refused", async () => {
  const answer = await fetch(`${server.baseUrl}/v1/messages`, {
    method: "POST",
    headers: { "anthropic-version": "2023-06-01" },
    body: JSON.stringify({
      model: "claude-sonnet-5",
      max_tokens: 100,
      messages: [{ role: "user", content: "" }],
    }),
  });
  assert.equal(answer.status, 400);
  const { error } = await answer.json();
  assert.equal(error.type, "invalid_request_error");
});
