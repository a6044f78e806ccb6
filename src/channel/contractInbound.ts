import { deepEqual, equal, notEqual, ok } from "node:assert/strict";
import { setTimeout as wait } from "node:timers/promises";
import { IngestMessageMetadata } from "../message/index.js";
import {
  type ContractCase,
  contractCase,
  type Make,
  recordingGate,
  stored,
  untilEither,
} from "./contractCase.js";

/** Texts that a channel might be tempted to tidy up. */
const TEXTS = [
  "hello",
  "  spaces around  ",
  "\n\tline breaks\r\nof every kind\n\n",
  " ",
  "zero\u200bwidth \u200d and \ufeff marks",
  "👩‍👩‍👧‍👦 🇩🇰 é e\u0301 ﷽",
  "שלום \u202eabc\u202c مرحبا",
  "a < b && c > d; a &lt; b &amp; c",
  "**bold** _it_ `code` ~gone~ <b>tag</b> [link](http://example.com)",
  '"quotes" \\backslash\\ \u0007 bell',
  "[Slack channel:C06 user:Olivia] not a prefix",
  "@everyone <@U06STGBF4Q0> <!channel>",
];
const MEBIBYTE = 1024 * 1024;

/** What holds for everything that comes in. */
export function inboundCases(make: Make): ContractCase[] {
  return [
    contractCase(make, "every character arrives as it was typed", async ({ channel, platform }) => {
      const { gate, heard } = recordingGate();
      await channel.start(gate);
      for (const [index, text] of TEXTS.entries()) {
        equal(await platform.deliver({ id: `id-${index}`, text, thread: null }), "accepted");
        equal(heard.at(-1)?.content, text);
      }
      equal(heard.length, TEXTS.length);
    }),

    contractCase(make, "a mebibyte of text arrives whole", async ({ channel, platform }) => {
      const { gate, heard } = recordingGate();
      await channel.start(gate);
      const text = `${"0123456789abcdef".repeat(MEBIBYTE / 16 - 1)} the end `.slice(-MEBIBYTE);
      equal(await platform.deliver({ id: "long", text, thread: null }), "accepted");
      ok(heard[0]?.content === text, `of ${text.length} characters ${heard[0]?.content.length} came`);
    }),

    contractCase(make, "a message says who spoke, where and by which channel", async (under) => {
      const { channel, platform, address } = under;
      const { gate, heard } = recordingGate();
      await channel.start(gate);
      await platform.deliver({ id: "one", text: "hello", thread: null });
      ok(address.startsWith(`${channel.name}:`), `${address} does not begin with ${channel.name}:`);
      equal(heard[0]?.address, address);
      const metadata = IngestMessageMetadata.safeParse(heard[0]?.msg_metadata);
      deepEqual(metadata.error?.issues ?? [], []);
    }),

    contractCase(make, "a redelivery can be told by its ids", async ({ channel, platform }) => {
      const { gate, heard } = recordingGate();
      await channel.start(gate);
      const first = { id: "same", text: "hello", thread: null };
      equal(await platform.deliver(first), "accepted");
      equal(await platform.deliver(first), "accepted");
      equal(await platform.deliver({ ...first, id: "another" }), "accepted");
      const [one, again, other] = heard.map(
        ({ msg_metadata: { source, channel_external_id, external_message_id } }) => ({
          source,
          channel_external_id,
          external_message_id,
        }),
      );
      ok(one?.external_message_id, "there is no external_message_id");
      // A channel may drop a redelivery itself; the message after it must still be told apart.
      if (heard.length === 3) deepEqual(again, one);
      notEqual((other ?? again)?.external_message_id, one.external_message_id);
    }),

    contractCase(make, "messages keep their order", async ({ channel, platform }) => {
      const { gate, heard } = recordingGate();
      await channel.start(gate);
      const texts = Array.from({ length: 30 }, (_, index) => `message ${index}`);
      for (const text of texts) await platform.deliver({ id: text, text, thread: null });
      deepEqual(
        heard.map((message) => message.content),
        texts,
      );
    }),

    contractCase(make, "a message in a thread says which", async ({ channel, platform }) => {
      if (!platform.threads) return "the platform has no threads";
      const { gate, heard } = recordingGate();
      await channel.start(gate);
      await platform.deliver({ id: "one", text: "in a thread", thread: "thread-7" });
      await platform.deliver({ id: "two", text: "in none", thread: null });
      equal(heard[0]?.msg_metadata.thread_id, "thread-7");
      equal(heard[1]?.msg_metadata.thread_id ?? null, null);
      return undefined;
    }),

    contractCase(
      make,
      "the platform is answered only once the message is durable",
      async ({ channel, platform }) => {
        const happened: string[] = [];
        const { gate } = recordingGate(async (message, nth) => {
          await wait(30);
          happened.push("durable");
          return stored(message, nth);
        });
        await channel.start(gate);
        const acknowledgement = await platform.deliver({ id: "one", text: "hello", thread: null });
        happened.push(acknowledgement);
        deepEqual(happened, ["durable", "accepted"]);
      },
    ),

    contractCase(
      make,
      "what could not be stored is pushed again, and taken then",
      async ({ channel, platform }) => {
        const { gate, heard } = recordingGate(async (message, nth) =>
          nth === 1 ? { status: "unavailable", why: "disk full", retryAfterS: 1 } : stored(message, nth),
        );
        await channel.start(gate);
        const said = { id: "one", text: "hello", thread: null };
        equal(await platform.deliver(said), "retry");
        equal(await platform.deliver(said), "accepted");
        equal(heard.length, 2, "the second push did not reach the gate");
      },
    ),

    contractCase(make, "a gate that breaks is no end of the channel", async ({ channel, platform }) => {
      const { gate } = recordingGate(async (message, nth) => {
        if (nth === 1) throw new Error("a bug in the gate");
        return stored(message, nth);
      });
      await channel.start(gate);
      equal(await platform.deliver({ id: "one", text: "hello", thread: null }), "retry");
      equal(await platform.deliver({ id: "two", text: "hello", thread: null }), "accepted");
    }),

    contractCase(
      make,
      "an unregistered address is accepted, so that nobody retries for days",
      async (under) => {
        const { gate } = recordingGate(async () => ({ status: "unregistered" }));
        await under.channel.start(gate);
        equal(await under.platform.deliver({ id: "one", text: "hello", thread: null }), "accepted");
      },
    ),

    contractCase(
      make,
      "a message that can never be taken is not asked for again",
      async ({ channel, platform }) => {
        const { gate } = recordingGate(async () => ({
          status: "invalid",
          errors: [{ path: "content", reason: "no" }],
        }));
        await channel.start(gate);
        notEqual(await platform.deliver({ id: "one", text: "hello", thread: null }), "retry");
      },
    ),

    contractCase(
      make,
      "a push with a wrong signature never reaches the gate",
      async ({ channel, platform }) => {
        if (!platform.forge) return "the platform's pushes are not signed";
        const { gate, heard } = recordingGate();
        await channel.start(gate);
        equal(await platform.forge({ id: "one", text: "hello", thread: null }), "refused");
        equal(heard.length, 0, "the gate was reached");
        return undefined;
      },
    ),

    contractCase(make, "a stop waits for what is being stored", async ({ channel, platform }) => {
      const happened: string[] = [];
      const { gate, heard } = recordingGate(async (message, nth) => {
        await wait(30);
        happened.push("durable");
        return stored(message, nth);
      });
      await channel.start(gate);
      const delivered = platform.deliver({ id: "one", text: "hello", thread: null });
      await untilEither(delivered, () => heard.length > 0);
      await channel.stop();
      happened.push("stopped");
      deepEqual(happened, ["durable", "stopped"]);
      await delivered;
    }),

    contractCase(make, "a stopped channel takes nothing more", async ({ channel, platform }) => {
      const { gate, heard } = recordingGate();
      await channel.start(gate);
      await platform.deliver({ id: "one", text: "hello", thread: null });
      await channel.stop();
      await channel.stop();
      notEqual(await platform.deliver({ id: "two", text: "hello", thread: null }), "accepted");
      equal(heard.length, 1, "a message came in after the stop");
    }),
  ];
}
