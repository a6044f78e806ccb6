import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AssistantMessage, UserMessage } from "../message/index.js";
import { CALL_CASES } from "../testing/callCases.js";
import { type Heard, hear, wordsOf } from "../testing/heardCall.js";
import type { ModelServer } from "../testing/modelServer.js";
import { encode, send } from "./call.js";
import type { Model, ModelRequest } from "./codec.js";
import { model } from "./model.js";

/** Odd, so that streams that end early and connections that break take turns. */
const STEP_OF_A_LONG_ONE = process.env.LONGHAND_LONG ? 1 : 5;
const LONG = 1300;
const request: ModelRequest = {
  messages: [UserMessage.text("[Ann]: grüße 🎈", { id: "m1" })],
  tools: [{ name: "look", description: "", parameters: { type: "object" } }],
};

/** What may be left: a beginning of the whole answer, and either all of it or a failure that says so. */
function checkPartial({ message, events }: Heard, whole: AssistantMessage): void {
  message.contents.forEach((content, at) => {
    const full = whole.contents[at];
    expect(full?.type).toBe(content.type);
    if (content.type === "tool_call" || !full || full.type === "tool_call") return;
    expect(full.content.startsWith(content.content)).toBe(true);
    expect(content.content).not.toMatch(/\p{Surrogate}|\ufffd/u);
  });
  for (const type of ["text", "thinking"] as const) {
    const kept = message.contents.flatMap((content) => (content.type === type ? [content.content] : []));
    expect(wordsOf(events, type)).toBe(kept.join(""));
  }
  if (message.stopReason === "error") {
    expect(["cut", whole.errorKind]).toContain(message.errorKind);
    expect(message.contents.some((content) => content.type === "tool_call")).toBe(false);
  } else expect(message.contents).toEqual(whole.contents);
}

describe.each(CALL_CASES)("a stream of $api cut at any byte", (api) => {
  let server: ModelServer;
  let on: Model;
  beforeAll(async () => {
    server = await api.start();
    on = model({ api: api.api, id: api.id, baseUrl: server.baseUrl, apiKey: "k" });
  });
  afterAll(() => server.close());

  const answer = api.says("Grü", "ße 🎈", "!");
  const streams = Object.entries({ text: answer, "one piece": api.whole("Grüße 🎈"), ...api.streams });

  test.each(streams)("leaves valid words, marked: %s", async (_, stream) => {
    const bytes = Buffer.from(stream);
    const encoded = encode(on, request);
    const cut = (at: number, broken: boolean): Promise<Heard> => {
      const source = new ReadableStream<Uint8Array>({
        start(controller) {
          for (let from = 0; from < at; from += 251)
            controller.enqueue(bytes.subarray(from, Math.min(at, from + 251)));
          if (!broken) controller.close();
        },
        pull: (controller) => controller.error(new Error("reset")),
      });
      const fetch = async (): Promise<Response> => new Response(source);
      return hear(send(on, encoded, { fetch, now: () => 1, newId: () => "x" }));
    };
    const whole = (await cut(bytes.length, false)).message;
    const step = bytes.length > LONG ? STEP_OF_A_LONG_ONE : 1;
    let partials = 0;
    for (let at = 0; at < bytes.length; at += step) {
      const heard = await cut(at, at % 2 === 1);
      checkPartial(heard, whole);
      if (heard.message.stopReason === "error") partials++;
    }
    expect(partials).toBeGreaterThan(bytes.length / step / 4);
  });

  test("over a real connection, answers whole when asked again", async () => {
    const length = Buffer.from(answer).length;
    const whole = (await ask({ body: answer })).message;
    expect(whole.stopReason).toBe("stop");
    for (let at = 0; at < length; at += Math.ceil(length / 20)) {
      checkPartial(await ask({ body: answer, cutAt: at, ending: at % 2 === 0 ? "reset" : "end" }), whole);
      expect((await ask({ body: answer })).message.contents).toEqual(whole.contents);
    }
  });

  function ask(script: Parameters<ModelServer["upcoming"]["push"]>[0]): Promise<Heard> {
    server.upcoming.push(script);
    return hear(send(on, encode(on, request)));
  }
});

test("an answer of which only the farewell is missing is whole", async () => {
  const chat = CALL_CASES.find(({ api }) => api === "openai-chat");
  const server = await chat?.start();
  if (!chat || !server) throw new Error("there is no server");
  const on = model({ api: chat.api, id: chat.id, baseUrl: server.baseUrl });
  const body = String(chat.says("Hi"));
  const cutAt = Buffer.byteLength(body.slice(0, body.indexOf("[DONE]")));
  for (const ending of ["silence", "reset"] as const) {
    server.upcoming.push({ body, cutAt, ending });
    const { message } = await hear(send(on, encode(on, request), { timeouts: { idleMs: 30 } }));
    expect(message).toMatchObject({ stopReason: "stop", usage: { inputTokens: 9 } });
    expect(message).not.toHaveProperty("error");
  }
  await server.close();
});
