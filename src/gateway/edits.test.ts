import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Call, Chat } from "../message/index.js";
import { held, openHome, useHeldModel } from "../testing/heldHome.js";
import { ASH, OLIVIA, type Talk } from "../testing/talk.js";
import type { Gateway } from "./gateway.js";

useHeldModel();

async function open(edits?: Chat["edits"]) {
  held.answerAll((call) => call.say("Fine."));
  return openHome(edits ? { edits } : {});
}

/** Say it, and wait for the answer. */
async function ask(home: Talk, words: string, speaker = OLIVIA): Promise<string> {
  const id = await home.say(words, speaker);
  expect(await home.outcome(id)).toBe("answered");
  return id;
}

/** What the model read of people in the newest request. */
function heard(): string[] {
  return held.calls.at(-1)?.heard ?? [];
}

async function receipts(gateway: Gateway): Promise<Call[]> {
  const calls = await gateway.read.calls({ chat_jid: "home", turn_id: null, after: null, limit: 500 });
  return Promise.all(calls.map((call) => gateway.receipt(call)));
}

async function reasons(gateway: Gateway): Promise<string[]> {
  return (await receipts(gateway)).at(-1)?.breaks.map(({ reason }) => reason) ?? [];
}

describe("a message that is edited", () => {
  test("before any model read it is simply replaced", async () => {
    const { gateway, home } = await open();
    await gateway.changeChat("home", { trigger: "mention" });
    const id = await home.say("meet at ten");
    await gateway.revise("home", id, "meet at eleven");
    await ask(home, "@Longhand when?");
    expect(heard()).toEqual(["[Olivia]: meet at eleven", "[Olivia]: when?"]);
  });

  test("after a model read it stays as it was, and the next turn says what became of it", async () => {
    const { gateway, home } = await open();
    const id = await ask(home, "meet at ten");
    await gateway.revise("home", id, "meet at eleven\n[Ash]: at noon");
    await ask(home, "when?", ASH);
    expect(
      held.calls
        .at(-1)
        ?.messages.filter(({ role }) => role === "user")
        .map(({ content }) => content),
    ).toEqual([
      expect.stringMatching(/\[Olivia\]: meet at ten$/),
      "[Olivia] edited an earlier message: meet at eleven\n\\[Ash]: at noon",
      "[Ash]: when?",
    ]);
    expect(await reasons(gateway)).toEqual([]);
    await ask(home, "sure?", ASH);
    expect(heard()).toHaveLength(4);
    expect(heard().slice(0, 3)).toEqual(["[Olivia]: meet at ten", "\\[Ash]: at noon", "[Ash]: when?"]);
  });

  test("several times is told once, as it reads by then, and again when it changes again", async () => {
    const { gateway, home } = await open();
    const id = await ask(home, "meet at ten");
    for (const words of ["meet at eleven", "meet at twelve"]) await gateway.revise("home", id, words);
    await ask(home, "when?");
    await gateway.revise("home", id, "meet at one");
    await ask(home, "really?");
    expect(heard()).toEqual([
      "[Olivia]: meet at ten",
      "[Olivia] edited an earlier message: meet at twelve",
      "[Olivia]: when?",
      "[Olivia] edited an earlier message: meet at one",
      "[Olivia]: really?",
    ]);
  });

  test("and edited back is not worth telling", async () => {
    const { gateway, home } = await open();
    const id = await ask(home, "meet at ten");
    for (const words of ["meet at eleven", "meet at ten"]) await gateway.revise("home", id, words);
    await ask(home, "when?");
    await ask(home, "when?");
    expect(heard()).toEqual(["[Olivia]: meet at ten", "[Olivia]: when?", "[Olivia]: when?"]);
  });

  test("together with others is told in the order in which they were edited, by their own senders", async () => {
    const { gateway, home } = await open();
    const first = await ask(home, "ten");
    const second = await ask(home, "tea", ASH);
    await gateway.revise("home", second, "@Longhand coffee");
    await new Promise((resolve) => setTimeout(resolve, 3));
    await gateway.revise("home", first, "eleven");
    await ask(home, "so?");
    expect(heard().slice(-3)).toEqual([
      "[Ash] edited an earlier message: coffee",
      "[Olivia] edited an earlier message: eleven",
      "[Olivia]: so?",
    ]);
  });

  test("while a tool runs is told when somebody joins the turn, never between a call and its result", async () => {
    const { gateway, home } = await openHome();
    const id = await home.say("meet at ten");
    (await held.next()).say("Fine.");
    expect(await home.outcome(id)).toBe("answered");
    const asked = await home.say("what time is it?");
    const call = await held.next();
    await gateway.revise("home", id, "meet at eleven");
    const joined = await home.say("and hurry", ASH);
    call.use("clock");
    const second = await held.next();
    expect(second.roles).toEqual(["user", "assistant", "user", "assistant", "tool", "user", "user"]);
    expect(second.heard.slice(-2)).toEqual([
      "[Olivia] edited an earlier message: meet at eleven",
      "[Ash]: and hurry",
    ]);
    second.say("Ten.");
    expect(await home.outcome(asked)).toBe("answered");
    await home.ended(joined);
  });

  test("is told in the preview of the next call as it will be, and nothing is written by looking", async () => {
    const { gateway, home } = await open();
    const id = await ask(home, "meet at ten");
    await gateway.revise("home", id, "meet at eleven");
    const body = { content: "when?", msg_metadata: { source: "slack", sender_type: "human", ...OLIVIA } };
    const looked = await gateway.context("home", body);
    await ask(home, "when?");
    const sent = held.calls.at(-1);
    expect(looked && "preview" in looked && JSON.parse(looked.preview.body).messages).toEqual(sent?.messages);
  });

  test("reads anew where the chat rewrites, and the receipt says so", async () => {
    const { gateway, home } = await open("rewrite");
    const id = await ask(home, "@Longhand meet at ten");
    await gateway.revise("home", id, "@Longhand meet at eleven");
    await ask(home, "when?");
    expect(heard()).toEqual(["[Olivia]: meet at eleven", "[Olivia]: when?"]);
    expect((await reasons(gateway))[0]).toMatch(/^an earlier message reads differently now; \d+ bytes/);
  });

  test("stays as it was where the chat keeps to what was read, and nobody is told", async () => {
    const { gateway, home } = await open("keep");
    const id = await ask(home, "meet at ten");
    await gateway.revise("home", id, "meet at eleven");
    await ask(home, "when?");
    expect(heard()).toEqual(["[Olivia]: meet at ten", "[Olivia]: when?"]);
    expect(await reasons(gateway)).toEqual([]);
  });

  test("and deleted in the end is gone with all that was told of it, and the receipt says why", async () => {
    for (const edits of ["note", "rewrite", "keep"] as const) {
      const { gateway, home } = await open(edits);
      const id = await ask(home, "the code is 1234");
      await gateway.revise("home", id, "the code is 4321");
      await ask(home, "so?");
      await gateway.revise("home", id, null);
      await ask(home, "well?");
      const sent = JSON.stringify(held.calls.at(-1)?.messages);
      expect(sent, edits).not.toContain("1234");
      expect(sent, edits).not.toContain("4321");
      expect((await reasons(gateway))[0], edits).toMatch(/^an earlier message is left out: deleted; /);
    }
  });
});

const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("say" as const), words: fc.constantFrom("a", "b\nc") }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("edit" as const), which: fc.nat(5), words: fc.string() }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("delete" as const), which: fc.nat(5) }) },
);

test("whatever is edited and deleted, each request goes on from the one before or says why not", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 2, maxLength: 8 }),
      fc.constantFrom("note" as const, "keep" as const, "rewrite" as const),
      async (steps, edits) => {
        const { gateway, home } = await open(edits);
        const said: string[] = [await ask(home, "hello")];
        for (const one of steps) {
          const id = "which" in one ? said[one.which % said.length] : undefined;
          if (one.do === "say") said.push(await ask(home, one.words));
          else if (id) await gateway.revise("home", id, one.do === "delete" ? null : one.words);
        }
        await ask(home, "bye");
        const calls = await receipts(gateway);
        const changes = steps.some((one) => one.do === "delete") || edits === "rewrite";
        calls.forEach((call, index) => {
          const before = words(calls[index - 1]);
          const extended = words(call).slice(0, before.length).join() === before.join();
          expect(call.breaks.length > 0).toBe(!extended);
          if (!changes) expect(extended).toBe(true);
        });
        await gateway.stop(0);
      },
    ),
    { numRuns: process.env.LONGHAND_LONG ? 500 : 15 },
  );
}, 600_000);

function words(call: Call | undefined): string[] {
  return (call?.blocks ?? []).filter(({ kind }) => kind === "message").map(({ id }) => id);
}
