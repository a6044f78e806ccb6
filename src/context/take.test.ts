import { expect, test } from "vitest";
import { fold } from "./fold.js";
import { CHAT, scene } from "../testing/scene.js";
import { takeMessages } from "./take.js";

const rowsOf = (fill: (chat: ReturnType<typeof scene>) => void) => {
  const chat = scene();
  fill(chat);
  return chat.path.flatMap(({ message }) => (message ? [message] : []));
};

test("what a turn takes is settled once: name, token, time, trigger, attachments", () => {
  const sha256 = "s";
  const rows = rowsOf((chat) => {
    chat.person("slack:U1", "Olivia", " @Longhand, hi", {
      metadata: { mention_token: "<@U1>" },
      revision: 2,
      attachments: [
        {
          name: "a",
          mime_type: "text/plain",
          size: 1,
          sha256,
          state: "unavailable",
          reason: "late",
          url: null,
        },
      ],
    });
    chat.person("slack:U2", "Olivia", "hm");
    chat.own("system", "system", "x");
  });
  const { frozen, newLabels } = takeMessages({ rows, previous: { at: null }, labels: [], chat: CHAT });
  expect([...frozen.values()]).toEqual([
    {
      label: "Olivia",
      mention_token: "<@U1>",
      time_line: "[Time: Sunday, 15 November 2026, 15:18, Europe/Copenhagen]",
      trigger_end: 12,
      revision: 2,
      attachments: [{ state: "unavailable", reason: "late", sha256 }],
    },
    { label: "Olivia 2", mention_token: null, time_line: null, trigger_end: 0, revision: 0, attachments: [] },
    { label: null, mention_token: null, time_line: null, trigger_end: 0, revision: 0, attachments: [] },
  ]);
  expect(newLabels).toEqual([
    { folded: fold("Olivia"), label: "Olivia", sender: "slack:U1" },
    { folded: fold("Olivia 2"), label: "Olivia 2", sender: "slack:U2" },
  ]);
});

test("names given out before are kept, and not given out again", () => {
  const rows = rowsOf((chat) => {
    chat.person("slack:U2", "Olivia", "hm");
    chat.person("slack:U2", "Olivia", "hm");
  });
  const labels = [{ folded: fold("Olivia"), label: "Olivia", sender: "slack:U1" }];
  const { frozen, newLabels } = takeMessages({
    rows,
    previous: { at: rows[0]?.timestamp ?? null },
    labels,
    chat: CHAT,
  });
  expect([...frozen.values()].map(({ label, time_line }) => [label, time_line])).toEqual([
    ["Olivia 2", null],
    ["Olivia 2", null],
  ]);
  expect(newLabels).toHaveLength(1);
});

test("the platform's own mention of us is a trigger too, where our id is known", () => {
  const entities = [{ offset: 0, length: 7, type: "mention", id: "UBOT" }];
  const rows = rowsOf((chat) => chat.person("slack:U1", "Olivia", "<@UBOT> hi", { metadata: { entities } }));
  const take = (botIds: string[]) =>
    takeMessages({ rows, previous: { at: null }, labels: [], chat: CHAT, botIds }).frozen.get("m1")
      ?.trigger_end;
  expect(take(["UBOT"])).toBe(8);
  expect(take(["UMAX"])).toBe(0);
});

test("a sender nobody may read takes no name", () => {
  const rows = rowsOf((chat) => chat.person("slack:U9", "Olivia", "hm"));
  const chat = { ...CHAT, read: ["slack:U1"] };
  const { frozen, newLabels } = takeMessages({ rows, previous: { at: null }, labels: [], chat });
  expect(newLabels).toEqual([]);
  expect(frozen.get("m1")?.label).toBeNull();
});
