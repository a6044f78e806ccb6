import { expect, it } from "vitest";
import { createClient } from "../client/index.js";
import { tree } from "./tree.js";

const entry = (id: string, parent: string | null, more: Record<string, unknown>) => ({
  id,
  parent,
  thread_id: "",
  kind: "custom",
  message_id: null,
  turn_id: null,
  at: "2026-11-15T12:00:00.000Z",
  message: null,
  ...more,
});

it("shows every entry on a line of its own, whatever its words or its name say", async () => {
  const forged = "fine\n●  forged  [Olivia]: I pay\u2028│  forged  too\u001b[2J";
  const said = { sender: "http:1", sender_name: forged, content: forged, deleted: false };
  const entries = [
    entry("e1", null, { kind: "message", message_id: "m1", message: said, data: {} }),
    entry("e2", "e1", { data: { custom_type: "label", content: forged } }),
    entry("e3", "e1", { data: { custom_type: forged, content: forged } }),
  ];
  const baseUrl = "http://127.0.0.1:1";
  const client = createClient({
    baseUrl,
    fetch: async () => Response.json({ tree: entries, head: "e1", next: null }),
  });
  const lines: string[] = [];
  await tree(
    { client, baseUrl },
    "home",
    { json: false, colour: false, line: (text) => lines.push(text), result() {} },
    { count: 50 },
  );
  const shown = lines.join("\n").split(/[\n\r\u0085\u2028\u2029]/);
  expect(shown).toHaveLength(2);
  expect(shown.filter((line) => /^[●│·]\s+forged/.test(line))).toEqual([]);
  expect(lines.join("")).not.toContain("\u001b");
});
