import { deepEqual, equal, fail, notEqual, ok } from "node:assert/strict";
import type { SendResult } from "./channel.js";
import {
  type ChannelUnderTest,
  type ContractCase,
  contractCase,
  type Failure,
  type Make,
  outgoing,
  recordingGate,
  sending,
  untilEither,
} from "./contractCase.js";

const TEXT = "An answer: 👩‍👩‍👧‍👦 שלום\n\n  two  spaces, a < b & c, `code`";

/** What holds for everything that goes out. */
export function outboundCases(make: Make): ContractCase[] {
  return [
    contractCase(make, "a message is shown word for word, and its id comes back", async (under) => {
      const { channel, platform, address } = await started(under);
      const result = await channel.send(address, outgoing(TEXT), sending("key-1"));
      ok(result.ok, why(result));
      const [shown, ...more] = platform.shown();
      equal(shown?.text, TEXT);
      equal(shown?.thread, null);
      equal(more.length, 0);
      if (result.externalId !== null) equal(result.externalId, shown?.externalId);
    }),

    contractCase(make, "an answer goes to the thread it belongs to", async (under) => {
      const { channel, platform, address } = await started(under);
      if (!platform.threads) return "the platform has no threads";
      ok((await channel.send(address, outgoing("in it"), sending("key-1", { thread: "thread-7" }))).ok);
      equal(platform.shown()[0]?.thread, "thread-7");
      return undefined;
    }),

    contractCase(make, "messages are shown in the order they were sent", async (under) => {
      const { channel, platform, address } = await started(under);
      const texts = Array.from({ length: 10 }, (_, index) => `message ${index}`);
      for (const text of texts)
        ok((await channel.send(address, outgoing(text), sending(`key-${text.slice(8)}`))).ok);
      deepEqual(
        platform.shown().map((shown) => shown.text),
        texts,
      );
    }),

    contractCase(make, "too many at once: told how long to wait", async (under) => {
      const retryAfter = await failing(under, { kind: "too_many", retryAfterS: 7 });
      equal(retryAfter, 7000);
    }),

    contractCase(make, "the platform's own trouble: tried again later", async (under) => {
      const retryAfter = await failing(under, { kind: "server_error" });
      equal(typeof retryAfter, "number", `${retryAfter} is no time to wait`);
    }),

    contractCase(make, "refused for good: never tried again", async (under) => {
      equal(await failing(under, { kind: "rejected" }), "never");
    }),

    contractCase(make, "cut off after it was taken: unknown, neither sent nor failed", async (under) => {
      equal(await failing(under, { kind: "hang_up" }), "unknown");
    }),

    contractCase(make, "no answer at all: unknown as soon as patience ends", async (under) => {
      const patience = new AbortController();
      const retryAfter = failing(under, { kind: "silence" }, patience.signal);
      await untilEither(retryAfter, () => under.platform.attempts().length > 0);
      patience.abort();
      equal(await retryAfter, "unknown");
    }),

    contractCase(make, "what was given up before it began is not sent", async (under) => {
      const { channel, platform, address } = await started(under);
      const result = await channel.send(
        address,
        outgoing(TEXT),
        sending("key-1", { signal: AbortSignal.abort() }),
      );
      equal(platform.attempts().length, 0);
      equal(
        typeof (!result.ok && result.retryAfter),
        "number",
        "it certainly was not sent, so it is no `unknown`",
      );
    }),

    contractCase(make, "every try of one delivery carries the same key", async (under) => {
      await failing(under, { kind: "server_error" });
      const { channel, platform, address } = under;
      ok((await channel.send(address, outgoing(TEXT), sending("key-1"))).ok);
      ok((await channel.send(address, outgoing(TEXT), sending("key-2"))).ok);
      const [first, again, other] = platform.attempts().map((attempt) => attempt.key);
      if (first === null) return "the platform takes no key";
      ok(first, "no try reached the platform");
      equal(again, first);
      notEqual(other, first);
      return undefined;
    }),

    contractCase(make, "sent again after a hang-up, it is shown once", async (under) => {
      if (!under.channel.takesKey) return "the platform takes no key";
      await failing(under, { kind: "hang_up" });
      ok((await under.channel.send(under.address, outgoing(TEXT), sending("key-1"))).ok);
      equal(under.platform.shown().length, 1);
      return undefined;
    }),

    contractCase(make, "a send we are unsure of can be found by its key", async (under) => {
      const { channel, platform, address } = under;
      if (!channel.find) return "the channel cannot look";
      await failing(under, { kind: "hang_up" });
      deepEqual(await channel.find(address, "key-1"), { externalId: platform.shown()[0]?.externalId });
      equal(await channel.find(address, "never sent"), null);
      return undefined;
    }),

    contractCase(make, "an edit changes the message that was sent", async (under) => {
      const { channel, platform, address } = await started(under);
      if (!channel.edit) return "the channel cannot edit";
      const externalId = await sentId(under);
      const result = await channel.edit(address, externalId, outgoing("better words"), sending("key-2"));
      ok(result.ok, why(result));
      deepEqual(
        platform.shown().map((shown) => shown.text),
        ["better words"],
      );
      return undefined;
    }),

    contractCase(make, "a removal takes the message away", async (under) => {
      const { channel, platform, address } = await started(under);
      if (!channel.remove) return "the channel cannot remove";
      const externalId = await sentId(under);
      const result = await channel.remove(address, externalId, sending("key-2"));
      ok(result.ok, why(result));
      deepEqual(platform.shown(), []);
      return undefined;
    }),

    contractCase(make, "a text as long as the limit says is shown in one piece", async (under) => {
      const { channel, platform, address } = await started(under);
      if (!channel.limits) return "the channel has no limit";
      const text = "x".repeat(channel.limits.textLength);
      const result = await channel.send(address, outgoing(text), sending("key-1"));
      ok(result.ok, why(result));
      deepEqual(
        platform.shown().map((shown) => shown.text.length),
        [text.length],
      );
      return undefined;
    }),

    contractCase(make, "a stopped channel sends nothing, and gives up what is under way", async (under) => {
      const { channel, platform, address } = under;
      const retryAfter = failing(under, { kind: "silence" });
      await untilEither(retryAfter, () => platform.attempts().length > 0);
      await channel.stop();
      equal(await retryAfter, "unknown");
      const result = await channel.send(address, outgoing("too late"), sending("key-2"));
      equal(result.ok, false);
      equal(platform.attempts().length, 1);
    }),
  ];
}

async function started(under: ChannelUnderTest): Promise<ChannelUnderTest> {
  await under.channel.start(recordingGate().gate);
  return under;
}

/** Sends `key-1` into a failure, and looks at what is said about it besides. */
async function failing(
  under: ChannelUnderTest,
  failure: Failure,
  signal: AbortSignal = new AbortController().signal,
): Promise<number | "never" | "unknown"> {
  const { channel, platform, address, secrets } = await started(under);
  platform.failNext(failure);
  const result = await channel.send(address, outgoing(TEXT), sending("key-1", { signal }));
  if (result.ok) return fail(`${failure.kind} was taken for a success`);
  notEqual(result.why, "", "nothing is said about why");
  for (const secret of secrets) ok(!result.why.includes(secret), "a secret is told in `why`");
  return result.retryAfter;
}

async function sentId({ channel, address }: ChannelUnderTest): Promise<string> {
  const result = await channel.send(address, outgoing(TEXT), sending("key-1"));
  return result.ok && result.externalId !== null ? result.externalId : fail("the message got no id");
}

function why(result: SendResult): string {
  return result.ok ? "" : result.why;
}
