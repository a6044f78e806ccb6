import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { model } from "../provider/model.js";
import { LIMITS, MemoryHost } from "../testing/agentHost.js";
import { CALL_CASES } from "../testing/callCases.js";
import type { Behaviour, ModelServer } from "../testing/modelServer.js";
import { runAgent } from "./run.js";

/** Never a word, so nobody waits for the end of it: the connection is simply closed. */
const HANG_UP: Behaviour = { do: "send", script: { body: "", ending: "reset" } };
const teapot = (status: number, message: string): Behaviour => ({
  do: "send",
  script: { status, body: JSON.stringify({ error: { message } }) },
});

describe.each(CALL_CASES)("a call of $api in a turn", ({ api, id, start, failing }) => {
  let server: ModelServer;
  let host: MemoryHost;
  beforeAll(async () => {
    server = await start({ apiKey: "right" });
  });
  afterAll(() => server.close());
  beforeEach(() => {
    server.requests.length = 0;
    server.upcoming.length = 0;
    host = new MemoryHost(model({ api, id, baseUrl: server.baseUrl, apiKey: "right" }));
  });

  const run = (limits = {}) =>
    runAgent(host, { tools: [], limits: { ...LIMITS, ...limits } }, new AbortController().signal);
  const sleeps = () => host.events.filter((event) => event.startsWith("sleep"));

  it("waits as long as the server asks, otherwise longer each time, and then answers", async () => {
    server.next(
      { do: "overload" },
      { do: "rate-limit", retryAfterS: 7 },
      { do: "cut", text: "Hel" },
      HANG_UP,
    );
    server.next({ do: "say", text: "Hello there" });
    expect(await run({ attempts: 5 })).toEqual({ status: "answered" });
    expect(sleeps()).toEqual(["sleep 500", "sleep 7000", "sleep 2000", "sleep 4000"]);
    const kinds = host.answers.map(({ message }) => message.errorKind);
    expect(kinds).toEqual(["overloaded", "rate_limit", "cut", "cut", undefined]);
    expect(host.answers[2]?.message.contents).toMatchObject([{ type: "text", content: "Hel" }]);
  });

  it("is made again, too, when the error came in the middle of its stream", async () => {
    const [body, kind] = failing[0] ?? ["", ""];
    server.next({ do: "send", script: { body } }, { do: "say", text: "Hello" });
    expect(await run()).toEqual({ status: "answered" });
    expect(host.answers[0]?.message).toMatchObject({ errorKind: kind, contents: [{ content: "Hi" }] });
  });

  it("is not made again when that would not help, nor oftener than allowed, nor later than there is time", async () => {
    const hopeless: [Behaviour, string][] = [
      [{ do: "overflow" }, "overflow"],
      [teapot(402, "Insufficient credits"), "quota"],
      [teapot(403, "You may not"), "auth"],
      [teapot(422, "That is no request"), "invalid_request"],
      [{ do: "send", script: { body: "<html>Log in</html>" } }, "unknown"],
      [{ do: "rate-limit", retryAfterS: 7000 }, "rate_limit"],
    ];
    for (const [behaviour, errorKind] of hopeless) {
      server.requests.length = 0;
      server.next(behaviour);
      expect(await run()).toMatchObject({ status: "failed", message: { errorKind } });
      expect(server.requests).toHaveLength(1);
    }
    server.requests.length = 0;
    server.next({ do: "overload" }, { do: "overload" }, { do: "say", text: "too late" });
    expect(await run({ attempts: 2 })).toMatchObject({
      status: "failed",
      message: { errorKind: "overloaded" },
    });
    expect(server.requests).toHaveLength(2);
  });

  it("is not made again with a key that was refused", async () => {
    host = new MemoryHost(model({ api, id, baseUrl: server.baseUrl, apiKey: "wrong" }));
    expect(await run()).toMatchObject({ status: "failed", message: { errorKind: "auth" } });
    expect(server.requests).toHaveLength(1);
    expect(sleeps()).toEqual([]);
  });
});
