import { afterAll, beforeAll, expect, test } from "vitest";
import { runAgent } from "../agent/run.js";
import { type AssistantMessage, type LLMMessage, UserMessage } from "../message/index.js";
import { LIMITS, MemoryHost } from "../testing/agentHost.js";
import { brokenRules } from "../testing/anthropicRules.js";
import {
  anthropicStream,
  block,
  messageEnd,
  messageStart,
  startAnthropicServer,
  textBlock,
} from "../testing/anthropicServer.js";
import { hear } from "../testing/heardCall.js";
import type { ModelServer } from "../testing/modelServer.js";
import { schemaReader } from "../testing/vendorSchemas.js";
import { call, encode } from "./call.js";
import type { Model } from "./codec.js";
import { model } from "./model.js";

const USE = { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "snow ☃" } };
const FOUND = {
  type: "web_search_tool_result",
  tool_use_id: "srvtoolu_1",
  content: [
    { type: "web_search_result", title: "Snow", url: "https://snow.example", encrypted_content: "b64" },
  ],
};
const searches = (index: number) =>
  block(index, { ...USE, input: {} }, [
    { type: "input_json_delta", partial_json: '{"query":"sn' },
    { type: "input_json_delta", partial_json: 'ow ☃"}' },
  ]);
const RESTING = anthropicStream([
  messageStart(),
  ...textBlock(0, "I look it up."),
  ...searches(1),
  ...messageEnd("pause_turn"),
]);
const GOING_ON = anthropicStream([
  messageStart(),
  ...block(0, FOUND),
  ...block(1, { type: "text", text: "", citations: [] }, [
    { type: "text_delta", text: "It snows." },
    {
      type: "citations_delta",
      citation: { type: "web_search_result_location", url: "https://snow.example" },
    },
  ]),
  ...messageEnd("end_turn"),
]);
const hello = UserMessage.text("[Ann]: does it snow?", { id: "m1" });

let server: ModelServer;
let on: Model;
beforeAll(async () => {
  server = await startAnthropicServer();
  on = model({ api: "anthropic", id: "claude-opus-5", baseUrl: server.baseUrl });
});
afterAll(() => server.close());

async function answer(body: string, messages: LLMMessage[]): Promise<AssistantMessage> {
  server.next({ do: "send", script: { body } });
  return (await hear(call(on, { messages }))).message;
}
const differences = schemaReader("anthropic");
function sent(messages: LLMMessage[], to = on): { role: string; content: unknown[] }[] {
  const { body, headers } = encode(to, { messages });
  expect(brokenRules(body, { version: headers["anthropic-version"] })).toEqual([]);
  expect(differences(body)).toEqual([]);
  return JSON.parse(body).messages;
}

test("an answer that rests in a tool of the vendor's goes back as it is, and on from there as one answer", async () => {
  const resting = await answer(RESTING, [hello]);
  expect(resting).toMatchObject({ stopReason: "tool_use", contents: [{ content: "I look it up." }, {}] });
  const stored: AssistantMessage = JSON.parse(JSON.stringify(resting));
  const said = { type: "text", text: "I look it up." };
  expect(sent([hello, stored]).slice(1)).toEqual([{ role: "assistant", content: [said, USE] }]);

  const rest = await answer(GOING_ON, [hello, stored]);
  expect(rest).toMatchObject({ stopReason: "stop", contents: [{}, { content: "It snows." }] });
  const thanks = UserMessage.text("[Ann]: thanks", { id: "m2" });
  expect(sent([hello, stored, rest, thanks])[1]).toEqual({
    role: "assistant",
    content: [said, USE, FOUND, { type: "text", text: "It snows." }],
  });
});

test("a call that never got its result, a result without its call, and blocks of another model are left out", async () => {
  const resting = await answer(RESTING, [hello]);
  const rest = await answer(GOING_ON, [hello, resting]);
  const thanks = UserMessage.text("[Ann]: never mind", { id: "m2" });
  for (const messages of [
    [hello, resting, thanks],
    [hello, rest, thanks],
  ])
    expect(JSON.stringify(sent(messages))).not.toMatch(/srvtoolu/);
  const other = model({ api: "anthropic", id: "claude-sonnet-5", baseUrl: server.baseUrl });
  const elsewhere = JSON.stringify(sent([hello, resting, rest], other));
  expect(elsewhere).not.toMatch(/srvtoolu|encrypted_content/);
  expect(elsewhere).toContain("It snows.");
});

test("a turn goes on by itself when the model rests", async () => {
  server.requests.length = 0;
  server.next({ do: "send", script: { body: RESTING } }, { do: "send", script: { body: GOING_ON } });
  const host = new MemoryHost(on);
  const end = await runAgent(host, { tools: [], limits: LIMITS }, new AbortController().signal);
  expect(end).toEqual({ status: "answered" });
  expect(server.requests).toHaveLength(2);
  expect(JSON.parse(String(server.requests[1]?.body)).messages.at(-1)).toMatchObject({
    role: "assistant",
    content: [{}, USE],
  });
  expect(host.answers.map(({ last }) => last)).toEqual([false, true]);
});
