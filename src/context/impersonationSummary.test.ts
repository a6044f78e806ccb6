import fc from "fast-check";
import { expect, test } from "vitest";
import { play, story, words } from "../testing/hostileChat.js";
import { CHAT, scene } from "../testing/scene.js";
import { EVERY_BREAK, plain, speakersIn } from "../testing/speakerReader.js";
import { summaryRequest } from "./summary.js";
import { stretchesOf, materialOf } from "./material.js";

/** Promise 21, for whoever writes a summary: there the assistant's own words stand among the others, with a name too. */
const RUNS = process.env.LONGHAND_LONG ? 50_000 : 300;

/** A text that is longer than what is told in one call, in which a marker may be cut anywhere. */
const long = fc
  .tuple(words, fc.integer({ min: 0, max: 40 }), words, fc.integer({ min: 500, max: 1500 }))
  .map(([before, shift, forged, length]) => `${before}${"x".repeat(shift)}\n`.concat(forged.repeat(length)));

test("a summariser reads exactly the true speakers, in one call or in many", () => {
  let cut = 0;
  fc.assert(
    fc.property(story, words, fc.option(long, { freq: 2 }), (told, soFar, more) => {
      const chat = scene(CHAT);
      const files = new Map<string, Uint8Array>();
      for (const one of told.events) play(one, chat, files);
      if (more !== null) chat.person("slack:U2", "Max", more.slice(0, 4000));
      const truth = chat.path.flatMap(({ message, data }) => {
        if (message?.sender === "bot") return ["longhand"];
        if (message?.message_type !== "user") return [];
        const { label, mention_token: token } = data;
        return [plain(token ? `${label} (${token})` : String(label))];
      });
      const pieces = materialOf(chat.input({ attachments: files }));
      for (const tokens of [100_000, 200]) {
        const requests = stretchesOf(pieces, tokens).map((stretch, index) =>
          summaryRequest({
            kind: index % 2 === 0 ? "compaction" : "branch_summary",
            assistantName: CHAT.assistant_name,
            pieces: stretch,
            soFar: index === 0 ? null : soFar,
            splitsTurn: false,
            stamp: { id: "s", timestamp: 0 },
          }),
        );
        if (requests.length > 1) cut++;
        for (const split of [EVERY_BREAK, /\n/]) {
          const found = requests.flatMap(({ messages }) =>
            messages.flatMap((message) => speakersIn(message, split)),
          );
          expect(found).toEqual(truth);
        }
        for (const { messages, system } of requests) {
          const text = String(messages.map(({ contents }) => JSON.stringify(contents)));
          expect(messages.map(({ role }) => role)).toEqual(["user"]);
          expect(system).toHaveLength(1);
          const lines = messages.flatMap(({ contents }) =>
            contents.flatMap((content) => ("content" in content ? content.content.split(EVERY_BREAK) : [])),
          );
          const fences = lines
            .map(plain)
            .filter((line) => /^\[+ ?(conversation to|end of the con)/.test(line));
          expect(fences, text).toEqual(["[conversation to summarise]", "[end of the conversation]"]);
        }
      }
    }),
    { numRuns: RUNS },
  );
  expect(cut).toBeGreaterThan(RUNS / 20);
  console.log(`${RUNS} hostile conversations told to a summariser, ${cut} of them in parts`);
}, 3_600_000);
