import { afterEach, expect, it } from "vitest";
import { model } from "../provider/index.js";
import { openMemory } from "../store/memory.js";
import {
  anthropicStream,
  block,
  messageEnd,
  messageStart,
  startAnthropicServer,
  textBlock,
} from "../testing/anthropicServer.js";
import { Talk } from "../testing/talk.js";
import { createGateway } from "./gateway.js";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const USE = { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "snow" } };
const FOUND = { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] };

it("a model that rests while its vendor looks something up goes on by itself, and reads it again in the next turn", async () => {
  const server = await startAnthropicServer();
  closing.push(() => server.close());
  const claude = model({ api: "anthropic", id: "claude-opus-5", baseUrl: server.baseUrl });
  const gateway = createGateway({
    store: openMemory(),
    resolveModel: () => ({ ok: true, model: claude }),
    defaultModel: "claude",
  });
  closing.push(() => gateway.stop(0));
  await gateway.start();
  const resting = [
    messageStart(),
    ...textBlock(0, "Let me look."),
    ...block(1, USE),
    ...messageEnd("pause_turn"),
  ];
  const going = [messageStart(), ...block(0, FOUND), ...textBlock(1, "It snows."), ...messageEnd("end_turn")];
  for (const events of [resting, going])
    server.next({ do: "send", script: { body: anthropicStream(events) } });

  const home = new Talk(gateway, "home");
  expect(await home.ended(await home.say("does it snow?"))).toMatchObject({ outcome: "answered" });
  expect(server.requests).toHaveLength(2);
  expect(await home.ended(await home.say("thanks"))).toMatchObject({ outcome: "answered" });
  const { messages } = JSON.parse(String(server.requests.at(-1)?.body));
  const texts = [{ type: "text", text: "Let me look." }, USE, FOUND, { type: "text", text: "It snows." }];
  expect(messages[1]).toEqual({ role: "assistant", content: texts });
});
