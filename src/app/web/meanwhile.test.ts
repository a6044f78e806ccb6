import { writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { ServerProcess } from "../../testing/serverProcess.js";
import { CHROMIUM, SKIPPED, say, tooPale, type Visit, Visitors } from "../../testing/visitors.js";

const AGENT = fileURLToPath(new URL("../../../examples/container/agent.mjs", import.meta.url));

describe.skipIf(CHROMIUM === null)(`the page while the assistant is at work${SKIPPED}`, () => {
  let server: ServerProcess;
  let visitors: Visitors;
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "longhand-page-"));
    const containers = { helper: { command: [process.execPath, AGENT], isolation: "none" } };
    writeFileSync(join(folder, "containers.json"), JSON.stringify({ containers }));
    server = await ServerProcess.start({
      LONGHAND_DEMO_DELAY_MS: "10",
      LONGHAND_CONTAINERS: join(folder, "containers.json"),
    });
    visitors = await Visitors.of(server);
  });
  afterEach(async () => {
    expect(await visitors.leave()).toEqual([]);
  });
  afterAll(async () => {
    await visitors?.close();
    await server?.dispose();
    await rm(folder, { recursive: true, force: true });
  });

  const visit = (path: string, more?: Visit) => visitors.visit(path, more);
  const chat = (jid: string, more: Record<string, unknown> = {}) =>
    server.ask("POST", "/v1/chats", { jid, trigger: "always", ...more });
  const answers = (page: Page) => page.locator("[data-hand=assistant]:not([data-writing=true])");
  const said = (page: Page, words: string) => page.locator("[data-hand=person]", { hasText: words });
  const notes = (page: Page) => page.locator("[data-hand=host] .verbatim");

  /** Asks for a long answer in a new chat, and waits until its first words stand there. */
  async function amidAnAnswer(jid: string, more: Record<string, unknown>): Promise<Page> {
    await chat(jid, more);
    const page = await visit(`#chat=${jid}`);
    await say(page, "something /long");
    await page.locator("[data-hand=assistant][data-writing=true] .prose").waitFor();
    return page;
  }

  test("what is said meanwhile waits, says so, and its answer says what it is to", async () => {
    const page = await amidAnAnswer("queue", { while_busy: "queue" });
    await say(page, "second");
    await say(page, "third");
    await said(page, "second").getByText("waits its turn").waitFor();
    expect(await said(page, "something").textContent()).not.toContain("waits");
    await page.locator("[data-hand=meta]").nth(2).waitFor();
    await page.locator(".who", { hasText: "to “second”" }).waitFor();
    expect(await page.getByText("waits its turn").count()).toBe(0);

    const whatItSays = () =>
      page.locator(".entry:is([data-hand=assistant], [data-hand=thinking]) .who").allTextContents();
    const names = await whatItSays();
    expect(names.slice(-2)).toEqual(["Longhand · to “second”", "Longhand"]);
    await page.reload();
    await page.locator(".who", { hasText: "to “second”" }).waitFor();
    expect(await whatItSays()).toEqual(names);
  });

  test("what joined an answer stands where it was said, and says that it joined", async () => {
    const page = await amidAnAnswer("steer", { while_busy: "steer" });
    await say(page, "btw at the lake");
    await said(page, "btw at the lake").getByText("joined the answer that was being written").waitFor();
    const { body } = await server.ask("GET", "/v1/chats/steer/messages");
    const rows = body.messages as { id: string; message_type: string }[];
    const shown = await page
      .locator(".entry:not([data-hand=tool])")
      .evaluateAll((entries) => entries.map((entry) => entry.getAttribute("data-id")));
    const inOrder = rows.map(({ id }) => id).filter((id) => shown.includes(id));
    expect(shown).toEqual(inOrder);
  });

  test("of several that are answered together, the earlier ones say so", async () => {
    const page = await amidAnAnswer("collect", { while_busy: "collect" });
    await say(page, "second");
    await say(page, "third");
    await said(page, "second").getByText("answered together with what came after it").waitFor();
    expect(await said(page, "third").textContent()).not.toContain("together");
  });

  test("an answer that was stopped, or gave way to a newer message, ends in a torn edge", async () => {
    const page = await amidAnAnswer("stop", {});
    await say(page, "stop");
    await answers(page).getByText("cut off here").waitFor();
    await said(page, "something").getByText("not answered: somebody stopped the assistant").waitFor();
    expect(await notes(page).allTextContents()).toEqual(["Stopped."]);

    const other = await amidAnAnswer("interrupt", { while_busy: "interrupt" });
    await say(other, "no, this");
    await answers(other).getByText("cut off here").waitFor();
    await said(other, "something").getByText("not answered: a newer message").waitFor();
  });

  test("commands are answered in the margin, where no model reads them", async () => {
    await chat("words");
    const page = await visit("#chat=words");
    const told: [string, RegExp][] = [
      ["todos", /Nothing is on the list/],
      ["usage", /Nothing has been used/],
      ["model", /demo\/demo/],
      ["context", /would send \d+ bytes/],
      ["reset context", /fresh start/],
      ["model container/helper", /container\/helper answers/],
    ];
    for (const [index, [words, answer]] of told.entries()) {
      await say(page, words);
      await expect.poll(() => notes(page).nth(index).textContent()).toMatch(answer);
    }
    await expect.poll(() => page.locator(".title .model").textContent()).toBe("container/helper");
    expect(await answers(page).count()).toBe(0);
  });

  test("on a wide screen, too, a command and its answer stand together, and nothing lies on top of a note", async () => {
    await chat("wide");
    const page = await visit("#chat=wide", { width: 1800 });
    for (const [index, words] of ["todos", "usage", "context", "model"].entries()) {
      await say(page, words);
      await notes(page).nth(index).waitFor();
    }
    const tops = (await page.locator(".entry").all()).map(
      async (entry) => (await entry.boundingBox())?.y ?? 0,
    );
    const heights = await Promise.all(tops);
    expect(heights).toEqual(heights.toSorted((a, b) => a - b));
    expect(new Set(heights.map(Math.round)).size).toBe(8);

    await server.ask("POST", "/v1/chats/wide/host", { content: "News. ".repeat(60) });
    await say(page, "hello");
    await answers(page).hover();
    const slip = answers(page).locator(".aside");
    await expect.poll(() => slip.textContent()).toContain("tokens");
    expect((await slip.boundingBox())?.width).toBeGreaterThan(200);
    expect(await slip.evaluate((aside) => getComputedStyle(aside).backgroundColor)).toMatch(/^rgb\(/);
  });

  test("a chat that a container answers reads like any other, and shows what the container was told", async () => {
    await chat("contained", { model: "container/helper" });
    const page = await visit("#chat=contained");
    await say(page, "are you in there?");
    await answers(page).click();
    const told = page.locator(".block[data-kind=message] .wording[data-hand=words]");
    await expect.poll(() => told.last().textContent()).toMatch(/\[Me\]: are you in there\?$/);
    expect(await page.locator(".receipt").textContent()).toContain("helper by container");
  });

  test("one goes on from an earlier message with a click or a key, and sees from which", async () => {
    await chat("fork");
    const page = await visit("#chat=fork");
    await say(page, "the old plan");
    await page.locator("[data-hand=meta]").waitFor();
    await say(page, "the wrong turn");
    await page.locator("[data-hand=meta]").nth(1).waitFor();
    await answers(page).first().hover();
    await answers(page).first().getByRole("button", { name: "fork" }).click();
    expect(await page.locator(".quoted").textContent()).toMatch(/^Hello/);
    await page.getByRole("button", { name: "Go on from here" }).click();
    await page.locator("[data-reading=elsewhere]").first().waitFor();
    const next = await server.ask("GET", "/v1/chats/fork/context");
    expect(next.body.body).toContain("the old plan");
    expect(next.body.body).not.toContain("the wrong turn");

    await said(page, "the old plan").click();
    await page.keyboard.press("f");
    await expect.poll(() => page.locator(".quoted").textContent()).toContain("the old plan");
    await page.keyboard.press("Escape");
  });

  test("whatever got no answer says why on the message itself, and remarks say it on demand", async () => {
    await chat("strict", { allow: ["web:nobody"], trigger: "mention" });
    await chat("poor", { budget: { tokens_per_day: 10 } });
    await chat("broken");
    await server.submit("strict", "just a remark");
    await server.submit("strict", "@Longhand may I?");
    await server.submit("strict", "beep", { sender_type: "bot", sender_id: "slack:B1" });
    const poor = await server.submit("poor", "too dear");
    const broken = await server.submit("broken", "please /fail");
    const page = await visit("#chat=strict");
    await said(page, "may I?").getByText("this sender may not call the assistant here").waitFor();
    await said(page, "beep").getByText("bots are not answered here").waitFor();
    const remark = said(page, "just a remark");
    expect(await remark.locator(".why-not").count()).toBe(0);
    await remark.hover();
    expect(await remark.locator(".aside").isVisible()).toBe(true);
    expect(await remark.locator(".aside").textContent()).toContain("nobody called the assistant");
    await remark.getByRole("button", { name: "why" }).click();
    const inspector = page.getByLabel("What the model saw");
    await inspector.getByRole("heading", { name: "What became of it" }).waitFor();
    expect(await inspector.textContent()).toContain("It was not answered: nobody called the assistant.");

    await server.outcome("poor", poor.body.message_id);
    await page.getByRole("button", { name: "poor" }).click();
    await said(page, "too dear").getByText("not answered: this chat's budget").waitFor();
    await server.outcome("broken", broken.body.message_id);
    await page.getByRole("button", { name: "broken" }).click();
    await said(page, "please").getByText("not answered: HTTP 503").waitFor();
  });

  test("whoever comes by a personal link speaks under that name, and operates nothing", async () => {
    await chat("family");
    await server.ask("POST", "/v1/people", { name: "Olivia", senders: ["slack:U1"] });
    const { body } = await server.ask("POST", "/v1/people/olivia/link");
    const hers = await visit(`#code=${body.code}`, { token: false });
    await hers.getByRole("button", { name: "family" }).click();
    await hers.getByText("you are Olivia").waitFor();
    expect(await hers.getByRole("button", { name: "begin a chat" }).count()).toBe(0);
    await say(hers, "it is me");
    await answers(hers).waitFor();
    const mine = await visit("#chat=family");
    await said(mine, "it is me").waitFor();
    expect(await said(mine, "it is me").locator(".who").textContent()).toBe("Olivia · web page");
    await say(mine, "and me");
    await said(hers, "and me").waitFor();
    expect(await said(hers, "and me").locator(".who").textContent()).toBe("Me · web page");
  });

  test("how a chat is set can be read, with what to type to change it", async () => {
    await chat("set", { trigger: "mention", while_busy: "collect", budget: { usd_per_day: 2 } });
    const page = await visit("#chat=set");
    await page.getByRole("button", { name: "settings" }).click();
    const sheet = page.getByRole("dialog", { name: "How set is set" });
    await sheet.getByText("longhand settings set while_busy=queue").waitFor();
    const words = await sheet.textContent();
    for (const told of ["when called: @Longhand", "all at once", "$2.00 a day", "demo/demo (the server's)"])
      expect(words).toContain(told);
    await page.keyboard.press("Escape");
    await sheet.waitFor({ state: "detached" });
  });

  test("what was used is added up by day, chat and model, also for a phone", async () => {
    await chat("counted", { name: "Counted" });
    const { body } = await server.submit("counted", "count me");
    await server.outcome("counted", body.message_id);
    const page = await visit("#chat=counted", { width: 360 });
    await page.getByRole("button", { name: /chats/ }).click();
    await page.getByRole("button", { name: "usage" }).click();
    const ledger = page.locator(".ledger");
    await ledger.waitFor();
    expect(await ledger.locator("tbody tr").count()).toBe(1);
    await page.getByRole("button", { name: "chat", exact: true }).click();
    await ledger.getByRole("row", { name: /Counted/ }).waitFor();
    const used = await server.ask("GET", "/v1/usage?by=chat");
    const lines = used.body.usage as { key: string; input_tokens: number }[];
    const mine = lines.find(({ key }) => key === "counted");
    const shown = await ledger.getByRole("row", { name: /Counted/ }).textContent();
    expect(shown).toContain(new Intl.NumberFormat("en-GB").format(mine?.input_tokens ?? -1));
    await page.getByRole("button", { name: "model", exact: true }).click();
    await ledger.getByRole("row", { name: /demo\/demo/ }).waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(
      0,
    );
  });

  test.each([false, true])("all of it can be read against its paper (dark: %s)", async (dark) => {
    const page = await visit("#chat=stop", { dark });
    for (const jid of ["stop", "collect", "steer", "queue", "fork"]) {
      await page.getByRole("button", { name: jid, exact: true }).click();
      await page.getByLabel(`Conversation in ${jid}`).locator("[data-hand=meta]").first().waitFor();
      expect(await page.evaluate(tooPale)).toEqual([]);
    }
    await page.getByRole("button", { name: "settings" }).click();
    await page.locator(".sheet").waitFor();
    expect(await page.evaluate(tooPale)).toEqual([]);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "usage" }).click();
    await page.locator(".ledger").waitFor();
    expect(await page.evaluate(tooPale)).toEqual([]);
  });

  test("the page is there at once: its script is small", async () => {
    const page = await (await fetch(`${server.baseUrl}/`)).text();
    const [, path = ""] = /src="\.\/([^"]+\.js)"/.exec(page) ?? [];
    const script = await fetch(`${server.baseUrl}/${path}`);
    expect(script.status).toBe(200);
    expect(gzipSync(Buffer.from(await script.arrayBuffer())).length).toBeLessThan(40_000);
  });
});
