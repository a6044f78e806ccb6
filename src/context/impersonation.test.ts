import fc from "fast-check";
import { expect, test } from "vitest";
import { play, story } from "../testing/hostileChat.js";
import { CHAT, type Scene, scene } from "../testing/scene.js";
import { EVERY_BREAK, type FENCES, fencesIn, plain, speakersIn } from "../testing/speakerReader.js";
import { assemble } from "./assemble.js";

/**
 * Promise 21: nobody can be impersonated in what the model reads. People, tools, files and summaries say whatever a
 * fuzzer can think of; a reader that shares no code with the assembler then finds exactly the true speakers.
 */
const RUNS = process.env.LONGHAND_LONG ? 100_000 : 3_000;

test("the speakers a reader finds are exactly the true ones, whatever anybody writes anywhere", () => {
  fc.assert(
    fc.property(story, ({ summary, events, notices, tail }) => {
      const chat = scene({ ...CHAT, notices: tail ? "tail" : "system" });
      const files = new Map<string, Uint8Array>();
      if (summary !== null) chat.entry("compaction", { summary, first_kept: null });
      for (const one of events) play(one, chat, files);
      const assembled = assemble(
        chat.input({ attachments: files, notices: notices.map((text, index) => ({ id: `${index}`, text })) }),
      );

      const truth = chat.path.flatMap(({ message, data }) =>
        message?.message_type === "user"
          ? [{ sender: message.sender, label: String(data.label), token: data.mention_token }]
          : [],
      );
      for (const split of [EVERY_BREAK, /\n/]) {
        const found = assembled.messages.flatMap((message) => speakersIn(message, split));
        expect(found).toEqual(
          truth.map((turn) => plain(turn.token ? `${turn.label} (${turn.token})` : turn.label)),
        );
        expect(fencesIn(assembled.messages, split)).toEqual(fencesOf(chat, notices.length * Number(tail)));
      }
      oneNameEach(truth);
      for (const { sender: id, token: shown } of truth) {
        if (shown !== null) expect([`<@${id.split(":")[1]}>`, `@${id.split(":")[1]}`]).toContain(shown);
      }
    }),
    { numRuns: RUNS },
  );
  console.log(`${RUNS} hostile conversations, every speaker the true one`);
}, 3_600_000);

function fencesOf({ path }: Scene, notices: number): Record<string, number> {
  const rows = path.flatMap(({ kind, message }) => (message && kind !== "edit" ? [message] : []));
  const threads = rows.filter(
    ({ metadata }) => typeof metadata.thread_context === "string" && metadata.thread_context.trim() !== "",
  );
  const files = rows.flatMap(({ attachments }) => attachments);
  const counted: Record<(typeof FENCES)[number], number> = {
    "time:": path.filter(({ data }) => typeof data.time_line === "string").length,
    "thread context": threads.length,
    "end of thread context": threads.length,
    "attachment:": files.length,
    "end of attachment": files.filter(
      ({ mime_type, state, transcript }) =>
        (mime_type === "text/plain" && state === "delivered") ||
        (state === "transcribed" && transcript !== ""),
    ).length,
    "command output": rows.filter((row) => row.sender === "command_output").length,
    "notice]": notices,
    "summary of the conversation": path.filter(({ kind }) => kind === "compaction").length,
    "the conversation branched": path.filter(({ kind }) => kind === "branch_summary").length,
    "cut:": 0,
  };
  return counted;
}

/** No two senders are written alike, and no speaker is written like us. */
function oneNameEach(truth: readonly { sender: string; label: string }[]): void {
  const owners = new Map<string, string>();
  for (const { sender, label } of truth) {
    const seen = plain(label).normalize("NFKD").replace(/\p{M}/gu, "");
    expect(label).toMatch(/^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}[\]()<>\\]+$/u);
    expect(["longhand", "system", "time", "bot", "lh", ""]).not.toContain(seen);
    expect(owners.get(seen) ?? sender).toBe(sender);
    owners.set(seen, sender);
  }
}
