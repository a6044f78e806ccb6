import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { ServerProcess } from "../../testing/serverProcess.js";
import { CHROMIUM, nameless, SKIPPED, tooPale, type Visit, Visitors } from "../../testing/visitors.js";

describe.skipIf(CHROMIUM === null)(`branches, summaries and people on the page${SKIPPED}`, () => {
  let server: ServerProcess;
  let visitors: Visitors;

  beforeAll(async () => {
    server = await ServerProcess.start();
    visitors = await Visitors.of(server);
  });
  afterEach(async () => {
    expect(await visitors.leave()).toEqual([]);
  });
  afterAll(async () => {
    await visitors?.close();
    await server?.dispose();
  });

  const visit = (path: string, more?: Visit) => visitors.visit(path, more);
  /** A chat in which this was said, and answered. */
  async function told(jid: string, ...words: string[]): Promise<void> {
    await server.ask("POST", "/v1/chats", { jid, trigger: "always" });
    for (const said of words) {
      const { body } = await server.submit(jid, said);
      await server.outcome(jid, body.message_id);
    }
  }
  const said = (page: Page, words: string) => page.locator("[data-hand=person]", { hasText: words });
  const reading = (page: Page, words: string) => said(page, words).getAttribute("data-reading");
  const answers = (page: Page) => page.locator("[data-hand=assistant]:not([data-writing=true])");
  const body = async (jid: string) => (await server.ask("GET", `/v1/chats/${jid}/context`)).body.body;

  async function forkFrom(page: Page, words: string, button: string | RegExp): Promise<void> {
    await said(page, words).click();
    await page.keyboard.press("f");
    await page.getByRole("button", { name: button }).click();
  }

  test("one goes on from an earlier message; the branch that was left stays in sight, and one goes back to it", async () => {
    await told("ways", "the first plan", "the second plan", "the third plan");
    const page = await visit("#chat=ways");
    await forkFrom(page, "the second plan", "Go on from here");
    await expect.poll(() => reading(page, "the third plan")).toBe("elsewhere");
    expect(await reading(page, "the first plan")).toBe("now");
    expect(await said(page, "the third plan").getAttribute("aria-label")).toContain("on another branch");
    expect(await body("ways")).not.toContain("the third plan");

    await page.getByLabel(/^Write in/).fill("another third plan");
    await page.keyboard.press("Enter");
    await page.getByText(/goes on from “/).waitFor();
    const fork = page.getByRole("navigation", { name: "Here the conversation forked" }).last();
    expect(await fork.textContent()).toContain("the model reads this one");
    await fork.getByRole("button", { name: "go there" }).click();
    await expect.poll(() => reading(page, "the third plan")).toBe("now");
    expect(await reading(page, "another third plan")).toBe("elsewhere");
    expect(await body("ways")).toContain("the third plan");
  });

  test("every way is listed, can be named, walked with arrow keys and gone to", async () => {
    await told("wood", "alpha", "beta");
    const [alpha] = await server.messages("wood");
    await server.ask("POST", "/v1/chats/wood/fork", { from: alpha?.id });
    const { body: gamma } = await server.submit("wood", "gamma");
    await server.outcome("wood", gamma.message_id);
    const page = await visit("#chat=wood");
    await said(page, "gamma").click();
    await page.keyboard.press("b");
    const sheet = page.getByRole("dialog", { name: "Branches" });
    await sheet.getByText("went 2 ways").waitFor();
    await sheet.getByRole("button", { name: "name it" }).click();
    await sheet.getByLabel("Name of this branch").fill("with beta");
    await page.keyboard.press("Enter");
    await sheet.getByText("“with beta”").waitFor();
    await sheet.getByRole("button", { name: /alpha/ }).focus();
    await page.keyboard.press("ArrowDown");
    expect(await page.evaluate(() => document.activeElement?.textContent)).toMatch(/^Longhand: /);
    await sheet.getByRole("button", { name: "Go on here" }).click();
    await expect.poll(async () => String(await body("wood"))).toContain("beta");
    await sheet.getByRole("button", { name: /beta/ }).first().click();
    await sheet.waitFor({ state: "detached" });
    expect(await said(page, "beta").getAttribute("aria-current")).toBe("true");
  });

  test("a branch is left with a summary of it, which stands apart and can be opened", async () => {
    await told("left", "keep this", "leave this");
    const page = await visit("#chat=left");
    await forkFrom(page, "keep this", /with a summary/);
    const summary = page.locator("[data-mark=summary]");
    await summary.getByText("The branch that was left is read as a summary").waitFor();
    await summary.getByText("the summary", { exact: true }).click();
    expect((await summary.locator(".verbatim").textContent())?.length).toBeGreaterThan(10);
  });

  test("what is old is compacted on demand, said so, and undone", async () => {
    await told("old", "one", "two", "three");
    const page = await visit("#chat=old");
    await page.getByRole("button", { name: "branches" }).click();
    await page.getByRole("button", { name: "Compact now" }).click();
    await page.getByText("compacted: what came before").waitFor();
    await page.keyboard.press("Escape");
    const summary = page.locator("[data-mark=summary]");
    await summary.getByText(/reads a summary instead of the \d+ messages before/).waitFor();
    expect(await reading(page, "one")).toBe("summary");
    expect(await reading(page, "three")).toBe("now");
    await summary.getByRole("button", { name: "undo" }).click();
    await expect.poll(() => reading(page, "one")).toBe("now");
    await summary.getByRole("button", { name: "go on from this summary" }).click();
    await expect.poll(() => reading(page, "one")).toBe("summary");
  });

  test("why an answer was wrong is found in two clicks: what the model did not see, and who said it", async () => {
    const chat = { jid: "dinner", trigger: "mention", read: ["slack:olivia"] };
    await server.ask("POST", "/v1/chats", chat);
    const olivia = { sender_id: "slack:olivia", sender_display_name: "Olivia" };
    await server.submit("dinner", "We are four", olivia);
    await server.submit("dinner", "I come too, so five", {
      sender_id: "slack:sam",
      sender_display_name: "Sam",
    });
    const { body: asked } = await server.submit("dinner", "@Longhand book a table", olivia);
    await server.outcome("dinner", asked.message_id);
    const page = await visit("#chat=dinner");
    await answers(page).click();
    const inspector = page.getByLabel("What the model saw");
    await inspector.getByRole("button", { name: "1 message people saw was left out" }).click();
    const missed = inspector.locator(".left-out li", { hasText: "so five" });
    expect(await missed.textContent()).toContain(
      "not read here: this sender may not call the assistant here",
    );
    await missed.hover();
    expect(await said(page, "so five").getAttribute("data-lit")).toBe("true");
    expect(await inspector.locator(".blocks").textContent()).not.toContain("so five");
  });

  test("what changed since the call before is one click away, with the reason and the cache", async () => {
    await told("changed", "hello");
    await server.ask("PATCH", "/v1/chats/changed", { system_prompt: "Speak like a gardener." });
    const { body: second } = await server.submit("changed", "and now?");
    await server.outcome("changed", second.message_id);
    const page = await visit("#chat=changed");
    await answers(page).last().click();
    const inspector = page.getByLabel("What the model saw");
    await inspector.getByRole("button", { name: "call 1" }).click();
    expect(await inspector.locator(".lead").textContent()).toContain("The system prompt changed");
    expect(await inspector.locator(".block .break").first().textContent()).toContain(
      "the system prompt changed",
    );
    await inspector.getByRole("button", { name: "what changed since the call before?" }).click();
    const change = inspector.locator("[data-change=changed]", { hasText: "Speak like a gardener." });
    await change.waitFor();
    expect(await change.textContent()).toContain("here they part");
    expect(await inspector.locator(".compared").textContent()).toMatch(/cache/);

    await answers(page).first().click();
    await inspector.getByRole("button", { name: "call 1" }).click();
    await inspector.getByText("this was the first call here").waitFor();
  });

  test("the same request is given to a model again, and both answers stand side by side", async () => {
    await told("again", "hello");
    const before = (await server.messages("again")).length;
    const page = await visit("#chat=again");
    await answers(page).click();
    await page.getByRole("button", { name: "ask again" }).click();
    await page.getByLabel("the same request, for").fill("demo/demo");
    await page.getByRole("button", { name: "Ask", exact: true }).click();
    await page.getByRole("article", { name: "then: demo" }).waitFor();
    await page.getByRole("article", { name: "now: demo" }).waitFor();
    expect((await server.messages("again")).length).toBe(before);
    await page.getByLabel("the same request, for").fill("nobody/nothing");
    await page.getByRole("button", { name: "Ask", exact: true }).click();
    await page.getByRole("alert").waitFor();
  });

  test("the model is chosen in the chat's settings, and what is missing for the others is said", async () => {
    await told("chosen");
    const page = await visit("#chat=chosen");
    await page.getByRole("button", { name: "settings" }).click();
    await page.getByText("change the model").click();
    await page.getByRole("radio", { name: /^demo\/demo/ }).check();
    await page.getByText("From the next message on.").waitFor();
    expect((await server.ask("GET", "/v1/chats/chosen")).body.model).toBe("demo/demo");
    expect(await page.locator(".missing").textContent()).toContain("ANTHROPIC_API_KEY");
    await page.getByRole("radio", { name: /^the server's/ }).check();
    await expect.poll(async () => (await server.ask("GET", "/v1/chats/chosen")).body.model).toBeNull();
    await page.getByLabel(/^Another model/).fill("no-such/model");
    await page.getByRole("button", { name: "Use it" }).click();
    await page.locator(".models [data-failed=true]").waitFor();
  });

  test("a person is erased only when their name is typed, and then nothing of theirs is on the page", async () => {
    await server.ask("POST", "/v1/people", { name: "Olivia", senders: ["slack:ol1"] });
    await server.ask("POST", "/v1/chats", { jid: "erased", trigger: "always" });
    const olivia = { sender_id: "slack:ol1", sender_display_name: "Olivia" };
    const { body: first } = await server.submit("erased", "my secret recipe", olivia);
    await server.outcome("erased", first.message_id);
    const page = await visit("#chat=erased");
    await said(page, "my secret recipe").waitFor();
    await page.getByRole("button", { name: "people" }).click();
    await page.getByRole("button", { name: "Erase Olivia" }).click();
    const sheet = page.getByRole("dialog", { name: "Erase Olivia?" });
    expect(await sheet.textContent()).toContain("everything they said, in every chat");
    const erase = sheet.getByRole("button", { name: "Erase for good" });
    expect(await erase.isDisabled()).toBe(true);
    await sheet.getByLabel(/To erase them/).fill("Olivia");
    await erase.click();
    await page.getByText("Erased: 1 message").waitFor();
    await page.keyboard.press("Escape");
    await page.locator(".gone", { hasText: "erased" }).waitFor();
    // What the assistant answered stays; it may quote them.
    expect(await page.locator("[data-hand=person]").textContent()).not.toMatch(/secret recipe|Olivia/);
    expect((await server.ask("GET", "/v1/people")).body.people).toEqual([]);
  });

  test("an edited message says so, and what it said before is one click away", async () => {
    await told("edited", "at nine");
    const [first] = await server.messages("edited");
    await server.ask("PATCH", `/v1/chats/edited/messages/${first?.id}`, { content: "at ten" });
    const page = await visit("#chat=edited");
    await said(page, "at ten").getByRole("button", { name: "edited" }).click();
    await page.locator(".edited", { hasText: "at nine" }).waitFor();
  });

  test.each([
    { dark: false, width: 1300 },
    { dark: true, width: 360 },
  ])(
    "every sheet and view fits, can be read and has names for everything ($width px, dark: $dark)",
    async (more) => {
      if (!more.dark) {
        await told("looks", "one", "two", "three");
        const [first] = await server.messages("looks");
        await server.ask("POST", "/v1/chats/looks/compact", {});
        await server.ask("POST", "/v1/chats/looks/fork", { from: first?.id });
        const { body: other } = await server.submit("looks", "z".repeat(300));
        await server.outcome("looks", other.message_id);
      }
      const page = await visit("#chat=looks", more);
      await page.locator("[data-mark=summary]").waitFor();
      const check = async (): Promise<void> => {
        expect(await page.evaluate(tooPale)).toEqual([]);
        expect(await page.evaluate(nameless)).toEqual([]);
        expect(
          await page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
        ).toBeLessThanOrEqual(0);
        const sheet = page.locator(".sheet");
        if (await sheet.count())
          expect(await sheet.evaluate((place) => place.scrollWidth - place.clientWidth)).toBeLessThanOrEqual(
            0,
          );
      };
      await check();
      await answers(page).last().click();
      if (more.width < 720) await page.getByRole("button", { name: "what it saw" }).last().click();
      for (const view of ["as blocks", "what changed", "ask again"]) {
        await page.getByRole("button", { name: view, exact: true }).click();
        await page.getByText(/Comparing…/).waitFor({ state: "detached" });
        await check();
      }
      if (more.width < 720) await page.getByRole("button", { name: /‹ looks/ }).click();
      await page.getByRole("button", { name: "branches" }).click();
      await page.locator(".wood").waitFor();
      await check();
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "settings" }).click();
      await page.getByText("change the model").click();
      await check();
      await page.keyboard.press("Escape");
      if (more.width < 720) await page.getByRole("button", { name: /‹ chats/ }).click();
      await page.getByRole("button", { name: "people" }).click();
      await page
        .getByRole("button", { name: /^Erase / })
        .first()
        .click();
      await page.getByLabel(/To erase them/).waitFor();
      await check();
    },
  );
});
