import fc from "fast-check";
import { expect, test } from "vitest";
import { senderKind } from "../message/index.js";
import { brokenRules } from "../testing/chatCompletionsRules.js";
import { encode } from "../provider/call.js";
import { model } from "../provider/model.js";
import { type Scene, scene } from "../testing/scene.js";
import { toolUseId } from "./answer.js";
import { assemble } from "./assemble.js";
import { type Cut, chooseCut, standingIn } from "./cut.js";
import type { PathEntry } from "./context.js";
import { pathTokens } from "./tokens.js";

const RUNS = process.env.LONGHAND_LONG ? 20_000 : 200;

const size = fc.integer({ min: 1, max: 400 });
const step = fc.oneof(
  fc.record({ type: fc.constant("person" as const), size }),
  fc.record({
    type: fc.constant("answer" as const),
    size,
    tools: fc.integer({ min: 0, max: 3 }),
    note: fc.boolean(),
    late: fc.boolean(),
  }),
  fc.record({ type: fc.constant("system" as const), size }),
  fc.record({ type: fc.constant("custom" as const), size }),
  fc.record({ type: fc.constant("branch_summary" as const), size }),
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;
const story = fc.array(fc.array(step, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 8 });

function tell(chat: Scene, turns: readonly Step[][]): void {
  turns.forEach((steps, turn) => {
    const from = chat.path.length;
    chat.person("slack:U1", "Olivia", "go on ");
    for (const one of steps) happen(chat, one);
    for (const entry of chat.path.slice(from)) entry.turn_id = `t${chat.path.length}-${turn}`;
  });
}

function happen(chat: Scene, one: Step): void {
  const words = "word ".repeat(one.size);
  switch (one.type) {
    case "person":
      chat.person("slack:U2", "Max", words);
      return;
    case "answer": {
      const ids = Array.from({ length: one.tools }, (_, index) => `t${chat.path.length}_${index}`);
      chat.answer([
        { sender: "bot", content: words },
        ...ids.map((id) => ({ sender: "tool_use" as const, id, name: "look", args: { words } })),
      ]);
      if (one.note) chat.entry("custom", { custom_type: "note" });
      if (one.late) chat.person("slack:U2", "Max", "meanwhile");
      for (const id of ids) chat.result(id, words);
      return;
    }
    case "system":
      chat.own("system", "system", words);
      return;
    case "custom":
      chat.entry("custom", { custom_type: "note", content: words });
      return;
    case "branch_summary":
      chat.entry("branch_summary", { summary: words });
  }
}

/** What a store gives once the cut is an entry. */
function compacted(chat: Scene, { firstKept, covered }: Cut, summary: string): PathEntry[] {
  const head = chat.path.at(-1);
  const entry: PathEntry = {
    id: `compaction${chat.path.length}`,
    kind: "compaction",
    message: null,
    turn_id: null,
    at: head?.at ?? "",
    data: { summary, first_kept: firstKept.id, last_kept: head?.id, standing: standingIn(covered) },
  };
  const kept = chat.path.slice(chat.path.indexOf(firstKept)).filter(({ kind }) => kind !== "compaction");
  return [entry, ...kept];
}

const LOCAL = model({ api: "openai-chat", id: "m", baseUrl: "http://127.0.0.1:1/v1" });

test("a cut never parts a tool call from its result, and never starts with a result", () => {
  let cuts = 0;
  fc.assert(
    fc.property(story, fc.integer({ min: 0, max: 4000 }), (turns, keep) => {
      const chat = scene();
      tell(chat, turns);
      const cut = chooseCut(chat.path, keep);
      if (!cut) return;
      cuts++;
      const place = chat.path.indexOf(cut.firstKept);
      const kept = chat.path.slice(place);
      expect(cut.covered).toEqual(chat.path.slice(0, place));
      const calls = (entries: readonly PathEntry[], kind: string) =>
        entries.flatMap(({ message }) =>
          message && senderKind(message) === kind ? [toolUseId(message)] : [],
        );
      for (const part of [cut.covered, kept]) {
        expect(calls(part, "tool_result")).toEqual(calls(part, "tool_use"));
      }
      const answers = (entries: readonly PathEntry[]) =>
        new Set(entries.flatMap(({ message }) => message?.call_id ?? []));
      const keptAnswers = answers(kept);
      expect([...answers(cut.covered)].filter((id) => keptAnswers.has(id))).toEqual([]);
      expect(kept.some(({ message }) => message !== null) || kept[0]?.kind === "branch_summary").toBe(true);
    }),
    { numRuns: RUNS },
  );
  expect(cuts).toBeGreaterThan(RUNS / 3);
});

test("what is kept fits where anything can, in whole turns where a whole turn fits", () => {
  fc.assert(
    fc.property(story, fc.integer({ min: 0, max: 4000 }), (turns, keep) => {
      const chat = scene();
      tell(chat, turns);
      const cut = chooseCut(chat.path, keep);
      if (!cut) return;
      const kept = chat.path.slice(chat.path.indexOf(cut.firstKept));
      const tokens = pathTokens(kept);
      const lastTurn = chat.path.slice(
        chat.path.findIndex(({ turn_id }) => turn_id === chat.path.at(-1)?.turn_id),
      );
      const lastSize = pathTokens(lastTurn);
      if (lastSize <= keep && cut.firstKept.turn_id !== null) {
        expect(tokens).toBeLessThanOrEqual(keep);
        expect(cut.splitsTurn).toBe(false);
      }
      const turnBefore = cut.covered.findLast(({ kind }) => kind !== "custom")?.turn_id;
      expect(cut.splitsTurn).toBe(turnBefore === cut.firstKept.turn_id);
    }),
    { numRuns: RUNS },
  );
});

test("compacted again and again, a chat keeps the operator's rows, its order and every API's rules", () => {
  fc.assert(
    fc.property(fc.array(story, { minLength: 1, maxLength: 4 }), (chapters) => {
      const chat = scene();
      chapters.forEach((turns, chapter) => {
        tell(chat, turns);
        const cut = chooseCut(chat.path, 600);
        if (!cut) return;
        const all = new Map(chat.path.map(({ message }) => [message?.id, message]));
        const systemBefore = assemble(input(chat, all)).messages.filter(({ role }) => role === "system");
        const next = compacted(chat, cut, `chapter ${chapter}`);
        chat.path.splice(0, chat.path.length, ...next);
        for (const [id, row] of all) if (id && row) remembered.set(id, row);
        const { messages, system } = assemble(input(chat, all));
        const texts = (list: typeof messages) => list.map(({ contents }) => JSON.stringify(contents)).sort();
        expect(texts(messages.filter(({ role }) => role === "system"))).toEqual(texts(systemBefore));
        const spoken = messages.filter(({ role }) => role !== "system");
        expect(JSON.stringify(spoken[0]?.contents)).toContain(`chapter ${chapter}`);
        expect(JSON.stringify(spoken.slice(1))).not.toContain("chapter");
        expect(brokenRules(encode(LOCAL, { system, messages }).body)).toEqual([]);
      });
    }),
    { numRuns: RUNS / 5 },
  );
});

const remembered = new Map<string, NonNullable<PathEntry["message"]>>();

/** As the gateway gives it: with the system rows the newest compaction left behind. */
function input(chat: Scene, rows: ReadonlyMap<string | undefined, PathEntry["message"]>) {
  const [first] = chat.path;
  const ids = first?.kind === "compaction" ? standingIn([first]) : [];
  const standing = ids.flatMap((id) => rows.get(id) ?? remembered.get(id) ?? []);
  return chat.input({ standing });
}

test("where everything is one answer, or nothing was said, there is no place to cut", () => {
  const chat = scene();
  expect(chooseCut(chat.path, 0)).toBe(null);
  chat.own("system", "system", "always read this");
  chat.person("slack:U1", "Olivia", "hello");
  expect(chooseCut(chat.path, 0)).toBe(null);
  chat.answer([{ sender: "bot", content: "hi" }]);
  expect(chooseCut(chat.path, 0)?.firstKept).toBe(chat.path[2]);
});

test("a turn too long to keep is split, and the cut says so", () => {
  const chat = scene();
  chat.person("slack:U1", "Olivia", "look at all of it");
  for (let round = 0; round < 5; round++) {
    chat.answer([{ sender: "tool_use", id: `t${round}`, name: "look", args: {} }]);
    chat.result(`t${round}`, "x".repeat(4000));
  }
  for (const entry of chat.path) entry.turn_id = "t1";
  const cut = chooseCut(chat.path, 2500);
  expect(cut?.splitsTurn).toBe(true);
  expect(cut?.firstKept).toBe(chat.path[7]);
  expect(chooseCut(chat.path, 1)?.firstKept).toBe(chat.path[9]);
});
