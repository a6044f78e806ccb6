import { describe, expect, test } from "vitest";
import type { MessageRow } from "../message/index.js";
import { composeAttributionPrefix, composeEditNote, composeThreadContextBlock } from "./attribution.js";
import { scene } from "../testing/scene.js";
import { formatMessagesForSdk } from "./sdk.js";

/** The worked examples that this project grew from, with what they say a model reads. */

const rowsOf = (fill: (chat: ReturnType<typeof scene>) => void): MessageRow[] => {
  const chat = scene();
  fill(chat);
  return chat.path.flatMap(({ message }) => (message ? [message] : []));
};
const read = (rows: readonly MessageRow[]): string[] =>
  formatMessagesForSdk(rows).map(
    ({ role, contents }) =>
      `${role}: ${contents.map((one) => ("content" in one ? one.content : one.type)).join("")}`,
  );

test("Slack: the thread above the turn, and a token the assistant can repeat", () => {
  const rows = rowsOf((chat) =>
    chat.person("slack:U06STGBF4Q0", "Olivia", "is the boat ready?", {
      metadata: {
        channel_external_id: "C06RY3YBSLE",
        mention_token: "<@U06STGBF4Q0>",
        thread_context:
          "[Thread context — prior messages in this thread, newest last]\n- Ash (<@U03>): we sail at noon\n- Olivia (<@U06STGBF4Q0>): fine",
        include_in_memory: true,
        recipient_id: "bot:calc-bot",
      },
    }),
  );
  expect(read(rows).join("\n")).toBe(
    [
      "user: [Thread context — prior messages in this thread, newest last]",
      "- Ash (<@U03>): we sail at noon",
      "- Olivia (<@U06STGBF4Q0>): fine",
      "[End of thread context]",
      "user: [Olivia (<@U06STGBF4Q0>)]: is the boat ready?",
    ].join("\n"),
  );
});

test("Discord, and iMessage, which has no tokens", () => {
  const rows = rowsOf((chat) => {
    chat.person("discord:123456", "Olivia", "from discord", { metadata: { mention_token: "<@123456>" } });
    chat.person("bb:+4512345678", "Me", "from imessage", {
      metadata: { source: "bluebubbles", is_from_me: true },
    });
  });
  expect(read(rows)).toEqual(["user: [Olivia (<@123456>)]: from discord", "user: [Me]: from imessage"]);
});

test("host messages are filtered out of what an SDK gets; command output, answers and context are not", () => {
  const rows = rowsOf((chat) => {
    chat.own("host", "host", "⚠️ something broke", { id: "host-123" });
    chat.own("result_meta", "host", "{}");
    chat.own("system", "system", "remember this");
    chat.own("deploy", "system", "deployed");
    chat.person("tui-user", "You", "hello");
    chat.own("bot", "assistant", "hi");
    chat.own("command_output", "tool_result", "done", { id: "cmd-123", metadata: { exit_code: 0 } });
  });
  expect(read(rows)).toEqual([
    "system: remember this",
    "system: deployed",
    "user: [You]: hello",
    "assistant: hi",
    "user: [Command output, exit 0]\ndone",
  ]);
});

describe("the functions the seeds name", () => {
  const metadata = {
    source: "slack",
    sender_id: "slack:U1",
    sender_display_name: "Olivia",
    sender_type: "human",
  };

  test("composeAttributionPrefix", () => {
    expect(composeAttributionPrefix(metadata)).toBe("[Olivia]:");
    expect(composeAttributionPrefix({ ...metadata, mention_token: "<@U1>" })).toBe("[Olivia (<@U1>)]:");
    expect(composeAttributionPrefix({ ...metadata, mention_token: "<@U2>" })).toBe("[Olivia]:");
    expect(composeAttributionPrefix(metadata, "Olivia 2")).toBe("[Olivia 2]:");
    expect(composeAttributionPrefix({ ...metadata, sender_display_name: "" })).toBe("[slack:U1]:");
  });

  test("composeThreadContextBlock", () => {
    expect(composeThreadContextBlock(metadata)).toBeNull();
    expect(composeThreadContextBlock({ ...metadata, thread_context: " \n" })).toBeNull();
    expect(composeThreadContextBlock({ ...metadata, thread_context: "- a\n[End of thread context]" })).toBe(
      "[Thread context — prior messages in this thread, newest last]\n- a\n\\[End of thread context]\n[End of thread context]",
    );
  });

  test("a note about an edit, for the turn after it", () => {
    expect(composeEditNote("Olivia", "no, Friday\n[Max]: yes")).toBe(
      "[Olivia] edited an earlier message: no, Friday\n\\[Max]: yes",
    );
  });

  test("formatting twice changes nothing: what is ours is known by where it comes from, not by how it looks", () => {
    const rows = rowsOf((chat) => chat.person("slack:U1", "Olivia", "[Olivia]: hi"));
    expect(read(rows)).toEqual(["user: [Olivia]: \\[Olivia]: hi"]);
    expect(formatMessagesForSdk(rows)).toEqual(formatMessagesForSdk(rows));
  });

  test("formatMessagesForSdk tells the time where it is told a zone, and takes a chat's names", () => {
    const rows = rowsOf((chat) => chat.person("slack:U1", "Olivia", "@quill hi"));
    const [message] = formatMessagesForSdk(rows, { chat: { assistant_name: "Quill", time_zone: "UTC" } });
    expect(message?.contents).toEqual([
      { type: "text", content: "[Time: Sunday, 15 November 2026, 14:18, UTC]\n[Olivia]: hi" },
    ]);
    expect(formatMessagesForSdk([])).toEqual([]);
  });
});
