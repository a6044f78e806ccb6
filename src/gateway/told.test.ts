import { describe, expect, test } from "vitest";
import { ask, held, openHome, useHeldModel } from "../testing/heldHome.js";
import { ASH } from "../testing/talk.js";

useHeldModel();

const SECRET = "the code is 1234";

/** A chat in which a secret was told long ago. */
async function openLong() {
  const { gateway, home } = await openHome();
  const secret = await ask(home, SECRET, "I see, 1234.");
  const answer = (await home.rows("bot"))[0]?.id ?? "";
  for (let turn = 0; turn < 8; turn++) await ask(home, `${turn} and so on`);
  return { gateway, home, secret, answer };
}

/** What the model reads in the next turn. */
async function readNext(home: Awaited<ReturnType<typeof openLong>>["home"]): Promise<string> {
  await home.say("so?", ASH);
  const call = await held.next();
  call.say("Fine.");
  return JSON.stringify(call.messages);
}

describe("what is deleted is in no later request", () => {
  test("also where a summary told of it: what that covered is read again", async () => {
    const { gateway, home, secret, answer } = await openLong();
    const compacting = gateway.compact("home");
    (await held.next()).say(`She said that ${SECRET}.`);
    expect(await compacting).toMatchObject({ ok: true });
    expect(await readNext(home)).toContain("1234");
    await gateway.revise("home", secret, null);
    await gateway.revise("home", answer, null);
    const request = await readNext(home);
    expect(request).not.toContain("1234");
    expect(request).toContain("0 and so on");
    const { blocks } = (await gateway.call((await lastCall(gateway)) ?? "")) ?? {};
    expect(blocks?.some(({ kind }) => kind === "summary")).toBe(false);
  });

  test("and a chat whose summary went with it can be summarised again", async () => {
    const { gateway, home, secret } = await openLong();
    const first = gateway.compact("home");
    (await held.next()).say(`She said that ${SECRET}.`);
    expect(await first).toMatchObject({ ok: true });
    for (let turn = 0; turn < 3; turn++) await ask(home, `${turn} and on`);
    await gateway.revise("home", secret, null);
    const again = gateway.compact("home");
    (await held.next()).say("They counted.");
    expect(await again).toMatchObject({ ok: true });
    expect(await readNext(home)).toContain("They counted.");
  });

  test("what a summary does not tell of takes nothing away from it", async () => {
    const { gateway, home } = await openLong();
    const compacting = gateway.compact("home");
    (await held.next()).say("They counted.");
    expect(await compacting).toMatchObject({ ok: true });
    await gateway.revise("home", await ask(home, "a slip"), null);
    expect(await readNext(home)).toContain("They counted.");
  });

  test("though it was deleted while the summary was being written", async () => {
    const { gateway, home, secret, answer } = await openLong();
    const compacting = gateway.compact("home");
    const writer = await held.next();
    await gateway.revise("home", secret, null);
    await gateway.revise("home", answer, null);
    writer.say(`She said that ${SECRET}.`);
    expect(await compacting).toMatchObject({ ok: false, why: expect.stringContaining("deleted meanwhile") });
    expect(await readNext(home)).not.toContain("1234");
  });

  test("though the summary that told of it is being summarised itself", async () => {
    const { gateway, home, secret, answer } = await openLong();
    const first = gateway.compact("home");
    (await held.next()).say(`She said that ${SECRET}.`);
    expect(await first).toMatchObject({ ok: true });
    for (let turn = 0; turn < 8; turn++) await ask(home, `${turn} and on`);
    const second = gateway.compact("home");
    const writer = await held.next();
    expect(JSON.stringify(writer.messages)).toContain("1234");
    await gateway.revise("home", secret, null);
    await gateway.revise("home", answer, null);
    writer.say(`Long ago she said that ${SECRET}.`);
    expect(await second).toMatchObject({ ok: false });
    expect(await readNext(home)).not.toContain("1234");
  });

  test("an edit meanwhile is no reason to throw a summary away", async () => {
    const { gateway, home, secret } = await openLong();
    const compacting = gateway.compact("home");
    const writer = await held.next();
    await gateway.revise("home", secret, "never mind");
    writer.say("They counted.");
    expect(await compacting).toMatchObject({ ok: true });
    const request = await readNext(home);
    expect(request).toContain("They counted.");
    expect(request).toContain("edited an earlier message: never mind");
  });

  test("nor by way of the summary of a branch that was left", async () => {
    const { gateway, home, secret, answer } = await openLong();
    const [start] = (await gateway.tree({ chat_jid: "home", thread_id: "", after: null, limit: 10 })).tree;
    const forking = gateway.fork("home", { from: start?.id ?? "", summarise: true, thread_id: "" });
    (await held.next()).say("On the branch 1234 was told.");
    expect(await forking).toMatchObject({ ok: true });
    expect(await readNext(home)).toContain("On the branch");
    await gateway.revise("home", secret, null);
    await gateway.revise("home", answer, null);
    expect(await readNext(home)).not.toContain("1234");
  });
});

async function lastCall(gateway: Awaited<ReturnType<typeof openLong>>["gateway"]) {
  const calls = await gateway.read.calls({ chat_jid: "home", turn_id: null, after: null, limit: 500 });
  return calls.at(-1)?.id;
}
