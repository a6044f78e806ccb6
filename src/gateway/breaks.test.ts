import fc from "fast-check";
import { expect, test } from "vitest";
import { defineTool } from "../agent/index.js";
import type { Block, Call } from "../message/index.js";
import { useHeldModel } from "../testing/heldHome.js";
import { smallHome } from "../testing/smallHome.js";
import { SmallModel } from "../testing/smallModel.js";
import type { Gateway } from "./gateway.js";

useHeldModel();

/**
 * Until a declared break, what call N sent is the beginning of what call N+1 sends, byte for byte; where it is not, the
 * receipt says why, and what it says is true.
 */
const RUNS = process.env.LONGHAND_LONG ? 200 : 12;

const step = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom("say", "say", "work", "aside", "host") },
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      "edit",
      "delete",
      "edits:note",
      "edits:rewrite",
      "edits:keep",
      "prompt",
      "model",
    ),
  },
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      "tools",
      "notice",
      "notices:tail",
      "notices:system",
      "fork",
      "summarise",
      "head",
    ),
  },
  { weight: 2, arbitrary: fc.constantFrom("reset", "compact", "system row", "read:one", "read:all") },
);
const story = fc.array(fc.tuple(step, fc.nat(1000)), { minLength: 12, maxLength: 30 });

/** What may be said of a break, and what must have happened for it. A model's limits may cut a window at any time. */
const CAUSES: Readonly<Record<string, readonly string[]>> = {
  "the model changed": ["model"],
  "the tools changed": ["tools"],
  "the system prompt changed": ["prompt"],
  "a system message opens the conversation now": ["compact", "fork", "summarise", "head", "reset"],
  "a system message no longer opens the conversation": [
    "delete",
    "compact",
    "fork",
    "summarise",
    "head",
    "reset",
  ],
  "the notices changed": ["notice", "notices"],
  "a block moved to another place": ["tail"],
  "the conversation was compacted": ["compact"],
  "the conversation was forked": ["summarise", "head"],
  "the conversation went on from before its compaction": ["fork", "head", "reset", "summarise"],
  "the conversation went on from an earlier place": ["fork", "head", "reset", "summarise"],
  // A deletion empties the summaries that may tell of what was deleted.
  "the summary is left out": ["delete"],
  "left out: erased": ["delete"],
  "left out: deleted": ["delete"],
  "left out: this sender may not be read here": ["read"],
  "an earlier message reads differently now": ["edit", "edits", "read"],
};

test("every request extends the one before it, or its receipt says truly why not", async () => {
  const seen: Record<string, number> = {};
  let calls = 0;
  await fc.assert(
    fc.asyncProperty(story, async (steps) => {
      const { receipts, happened } = await play(steps);
      calls += receipts.length;
      for (const [index, call] of receipts.entries()) {
        const before = receipts[index - 1];
        const reasons = call.breaks.map(({ reason }) => reason);
        if (!before) {
          expect(reasons).toEqual([]);
          continue;
        }
        expect(reasons.length === 0, `${reasons} of ${[...(happened[index] ?? [])]}`).toBe(
          goesOn(before, call),
        );
        if (reasons.length === 0) {
          const sent = call.bytes.subarray(0, before.upTo);
          expect(sent.equals(before.bytes.subarray(0, before.upTo))).toBe(true);
        }
        // A receipt never says of a block that it came from what was left out.
        const gone = new Set(call.left_out.map(({ message_id }) => message_id));
        const first = call.blocks.flatMap(({ sources }) => sources.slice(0, 1));
        expect(first.filter(({ id }) => gone.has(id))).toEqual([]);
        for (const reason of reasons) {
          const known = Object.keys(CAUSES).find((words) => reason.includes(words));
          expect(known, reason).toBeDefined();
          seen[known ?? ""] = (seen[known ?? ""] ?? 0) + 1;
          const causes = [...(happened[index] ?? [])];
          expect(
            CAUSES[known ?? ""]?.some((cause) => causes.includes(cause)),
            `"${reason}" after ${causes}`,
          ).toBe(true);
        }
      }
    }),
    { numRuns: RUNS },
  );
  expect(Object.keys(seen).length).toBeGreaterThan(5);
  console.log(`${calls} calls; breaks: ${JSON.stringify(seen)}`);
}, 3_600_000);

type Sent = Call & { bytes: Buffer; upTo: number };

async function play(steps: readonly (readonly [string, number])[]) {
  const small = new SmallModel(1800);
  const tools = [toolCalled("look"), toolCalled("listen")];
  const used = [...tools];
  let notice = "Nothing new.";
  let tail = false;
  const home = await smallHome(small, {
    tools: used,
    notices: async () => [{ id: "news", text: notice }],
  });
  const { gateway, talk } = home;
  const said: string[] = [];
  /** By the number of the call they came before. */
  const happened: Set<string>[] = [];
  let since = new Set<string>();
  const turnCalls = async () =>
    (await gateway.read.calls({ chat_jid: "home", turn_id: null, after: null, limit: 500 })).filter(
      ({ purpose }) => purpose === "turn",
    );
  const say = async (words: string) => {
    const compactions = (await home.compactions()).length;
    said.push(await home.home.say(words));
    expect(await home.home.outcome(said.at(-1) ?? "")).toBe("answered");
    if ((await home.compactions()).length > compactions) since.add("compact");
    if (tail) since.add("tail");
    const made = (await turnCalls()).length;
    // Within a turn nothing may change but by a compaction.
    while (happened.length < made) happened.push(new Set(since));
    since = new Set();
  };
  await talk(2);
  await say("hello");
  for (const [kind, number] of steps) {
    const some = said[number % said.length] ?? "";
    const [what = "", which = ""] = kind.split(":");
    switch (what) {
      case "say":
        await say(`${number}: ${"lorem ipsum ".repeat(number % 12)}`);
        continue;
      case "work":
        small.rounds = 1 + (number % 2);
        await say("work on it");
        continue;
      case "aside":
        await gateway.storePassiveMessage("home", {
          content: `aside ${number}`,
          msg_metadata: {
            source: "slack",
            sender_id: "slack:U2",
            sender_type: "human",
            sender_display_name: "Ash",
          },
        });
        continue;
      case "host":
        await gateway.postHost("home", "news");
        continue;
      case "edit":
        await gateway.revise("home", some, `better ${number}`);
        break;
      case "delete":
        await gateway.revise("home", some, null);
        break;
      case "edits":
        await gateway.changeChat("home", { edits: which });
        break;
      case "read":
        await gateway.changeChat("home", { read: which === "all" ? "*" : ["slack:U1"] });
        break;
      case "prompt":
        await gateway.changeChat("home", { system_prompt: `Be brief ${number}.` });
        break;
      case "model":
        await gateway.changeChat("home", { model: `model-${number % 3}` });
        break;
      case "tools":
        used.splice(0, used.length, ...tools.slice(0, 1 + (number % 2)));
        break;
      case "notice":
        notice = `News ${number % 3}.`;
        break;
      case "notices":
        tail ||= which === "tail";
        await gateway.changeChat("home", { notices: which });
        break;
      case "fork":
      case "summarise":
        await gateway.fork("home", { from: some, summarise: what === "summarise", thread_id: "" });
        break;
      case "head":
        await gateway.moveHead("home", { entry_id: await someEntry(gateway, number), thread_id: "" });
        break;
      case "reset":
        await gateway.moveHead("home", { entry_id: null, thread_id: "" });
        break;
      case "compact":
        await gateway.compact("home");
        break;
      case "system row":
        await gateway.storeMessageDirect({
          id: `standing-${number}-${said.length}`,
          chat_jid: "home",
          sender: "system",
          sender_name: "system",
          content: `Remember ${number}.`,
          timestamp: new Date().toISOString(),
          message_type: "system",
        });
    }
    since.add(what);
  }
  await say("good night");
  expect(small.broken).toEqual([]);
  const receipts = await Promise.all((await turnCalls()).map(async ({ id }) => sentOf(gateway, id)));
  return { receipts, happened };
}

async function someEntry(gateway: Gateway, number: number): Promise<string | null> {
  const { tree } = await gateway.tree({ chat_jid: "home", thread_id: "", after: null, limit: 500 });
  return tree[number % tree.length]?.id ?? null;
}

async function sentOf(gateway: Gateway, id: string): Promise<Sent> {
  const [call, bytes] = await Promise.all([gateway.call(id), gateway.request(id)]);
  if (!call || bytes === null || bytes === "erased") throw new Error(`call ${id} has no receipt`);
  const last = call.blocks.findLastIndex(({ kind }) => SAID.includes(kind));
  const upTo = call.blocks.slice(0, last + 1).reduce((sum, { size }) => sum + size, 0);
  return { ...call, bytes: Buffer.from(bytes), upTo };
}

const SAID: readonly string[] = ["message", "summary", "thread_context", "notice", "system"];

/** Without a look at what a receipt says of itself. Behind its messages a body may hold tools and parameters. */
function goesOn(before: Sent, call: Sent): boolean {
  const ids = (blocks: readonly Block[], kinds: readonly string[]) =>
    blocks.filter(({ kind }) => kinds.includes(kind)).map(({ id }) => id);
  const around = ["params", "tools"];
  const [older, newer] = [ids(before.blocks, SAID), ids(call.blocks, SAID)];
  const system = (blocks: readonly Block[]) => ids(blocks, ["system", "notice"]);
  return (
    ids(before.blocks, around).join() === ids(call.blocks, around).join() &&
    system(before.blocks).join() === system(call.blocks).join() &&
    newer.slice(0, older.length).join() === older.join()
  );
}

function toolCalled(name: string) {
  return defineTool({
    name,
    description: name,
    parameters: { type: "object" },
    repeatable: true,
    run: async () => "seen",
  });
}
