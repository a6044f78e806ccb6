import type { Page } from "playwright-core";
import { Webhook } from "standardwebhooks";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { ServerProcess } from "../../testing/serverProcess.js";
import { CHROMIUM, SKIPPED, say, tooPale, type Visit, Visitors } from "../../testing/visitors.js";

const SECRET = `whsec_${Buffer.from("a secret for the page's own test").toString("base64")}`;

describe.skipIf(CHROMIUM === null)(`the web page${SKIPPED}`, () => {
  let server: ServerProcess;
  let visitors: Visitors;

  beforeAll(async () => {
    server = await ServerProcess.start({ LONGHAND_DEMO_DELAY_MS: "8", LONGHAND_WEBHOOK_SECRET: SECRET });
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
  const chat = (jid: string, more: Record<string, unknown> = {}) =>
    server.ask("POST", "/v1/chats", { jid, trigger: "always", ...more });
  const answers = (page: Page) => page.locator("[data-hand=assistant]:not([data-writing=true])");

  test("a newcomer opens the link, writes, and watches it think, use a tool and answer", async () => {
    const link = /#code=\S+/.exec(server.printed)?.[0] ?? "";
    const page = await visit(link, { token: false });
    await page.getByLabel(/^Write in/).waitFor();
    await page.evaluate(watchWriting);
    await say(page, "  What time is it?\n    (as typed)");
    await answers(page).waitFor();

    // It was there while it was being written, and longer and longer.
    const lengths = await page.evaluate(() => document.body.dataset.lengths?.split(" ").map(Number) ?? []);
    expect(lengths.length).toBeGreaterThan(1);
    expect(lengths).toEqual(lengths.toSorted((x, y) => x - y));
    expect(page.url()).not.toContain("code=");
    expect(await page.locator("[data-hand=person] .verbatim").textContent()).toBe(
      "  What time is it?\n    (as typed)",
    );
    expect(await page.locator("[data-hand=thinking]").count()).toBe(2);
    expect(await page.locator("[data-hand=tool] .mark").textContent()).toBe("✅");
    await page.locator("[data-hand=meta]").waitFor();
    await page.locator("[data-writing=true]").waitFor({ state: "detached" });

    await page.reload();
    await answers(page).waitFor();
    expect(await page.locator("[data-hand=person] .verbatim").textContent()).toBe(
      "  What time is it?\n    (as typed)",
    );

    const late = await visit(link, { token: false });
    await late.getByText("used already").waitFor();
    await late.getByLabel(/paste the token/).fill(server.token);
    await late.getByRole("button", { name: "Open" }).click();
    await answers(late).waitFor();
  });

  test("the inspector shows one's words where the model read them, and they light each other up", async () => {
    await chat("seen");
    const page = await visit("#chat=seen");
    await say(page, "Where is the lake?");
    await answers(page).click();
    const inspector = page.getByLabel("What the model saw");
    const block = inspector.locator(".block[data-kind=message]", { hasText: "Where is the lake?" });
    await block.waitFor();
    expect(await block.locator(".wording").textContent()).toContain("[Me]: Where is the lake?");

    const mine = page.locator("[data-hand=person]");
    await block.hover();
    expect(await mine.getAttribute("data-lit")).toBe("true");
    await mine.hover();
    expect(await block.getAttribute("data-lit")).toBe("true");
    expect(await inspector.locator(".block[data-lit=true]").count()).toBe(1);

    await inspector.getByRole("button", { name: "call 1" }).click();
    expect(await inspector.locator(".receipt").textContent()).toContain("asked for a tool");
    await inspector.getByRole("button", { name: "raw bytes" }).click();
    await inspector.getByText("as the receipt says").waitFor();
    const { body } = await server.ask("GET", "/v1/chats/seen/calls");
    const [first] = body.calls as { id: string }[];
    const sent = await server.ask("GET", `/v1/calls/${first?.id}/request`);
    expect(JSON.parse((await inspector.locator(".raw").textContent()) ?? "")).toEqual(sent.body);
  });

  test("before anything is said one can read what would be sent, with the words in the composer", async () => {
    await chat("now");
    const page = await visit("#chat=now");
    await page.getByText("Nothing has been said here yet.").waitFor();
    await page.getByLabel(/^Write in/).fill("not said yet");
    await page.getByRole("button", { name: /what would it see now/ }).click();
    await page.locator(".block[data-kind=message]", { hasText: "not said yet" }).waitFor();
    expect(await server.messages("now")).toEqual([]);
  });

  test("no name, word, file name or answer can run as script or fetch anything", async () => {
    await chat("<script>alert(1)</script>", { name: "<img src=x onerror=alert(2)>" });
    const evil =
      '<img src=x onerror="alert(3)"><script>alert(4)</script> [a](javascript:alert(5)) ![b](https://evil.invalid/?b)';
    const metadata = { sender_display_name: '"><svg onload=alert(6)>', sender_id: "slack:<b>" };
    const attachments = [{ name: "<iframe src=javascript:alert(7)>", mime_type: "text/plain", data: "aGk=" }];
    const { body } = await server.submit("<script>alert(1)</script>", evil, metadata, { attachments });
    await server.outcome("<script>alert(1)</script>", body.message_id);
    const page = await visit(`#chat=${encodeURIComponent("<script>alert(1)</script>")}`);
    const outside: string[] = [];
    page.on("request", (request) => request.url().startsWith(server.baseUrl) || outside.push(request.url()));
    await answers(page).click();
    await page.locator(".block[data-kind=message]").first().waitFor();

    expect(await page.locator("[data-hand=person] .verbatim").textContent()).toBe(evil);
    expect(await page.locator("[data-hand=person] .name").first().textContent()).toBe(
      '"><svg onload=alert(6)>',
    );
    expect(await page.locator(".attachments").textContent()).toContain("<iframe src=javascript:alert(7)>");
    expect(await page.locator("#book :is(img, script, iframe, svg)").count()).toBe(0);
    const links = await page
      .locator("#book a")
      .evaluateAll((all) => all.map((a) => (a instanceof HTMLAnchorElement ? a.protocol : "")));
    expect(links.filter((protocol) => protocol !== "https:" && protocol !== "http:")).toEqual([]);
    expect(outside).toEqual([]);
  });

  test("what is written while the server is away is sent when it is back, once", async () => {
    await chat("away");
    const page = await visit("#chat=away");
    await say(page, "before");
    await answers(page).waitFor();
    await server.down();
    await page.getByText("Connection lost").waitFor();
    await say(page, "while you were gone");
    await page.getByText("It is sent when the server is back").waitFor();
    await server.up();
    await answers(page).nth(1).waitFor();
    await page.getByText("Connection lost").waitFor({ state: "detached" });
    const said = (await server.messages("away")).filter((row) => row.message_type === "user");
    expect(said.map((row) => row.content)).toEqual(["before", "while you were gone"]);
    expect(await page.locator("[data-hand=person]").count()).toBe(2);
  });

  test("a message whose acknowledgement was lost is sent again and said once", async () => {
    await chat("lost");
    const page = await visit("#chat=lost", { deaf: true });
    await page.route("**/submit", (route) => void route.fetch().then(() => route.abort()), { times: 1 });
    await say(page, "only once");
    await page.getByRole("button", { name: "Send again" }).click();
    await page.locator("[data-sending]").waitFor({ state: "detached" });
    expect(await page.locator("[data-hand=person]").allTextContents()).toHaveLength(1);
    const said = (await server.messages("lost")).filter((row) => row.message_type === "user");
    expect(said.map((row) => row.content)).toEqual(["only once"]);
  });

  test("a long chat is read page by page, and what one reads does not move when somebody speaks", async () => {
    await chat("long", { trigger: "mention" });
    await Promise.all(Array.from({ length: 300 }, (_, index) => server.submit("long", `remark ${index}`)));
    const page = await visit("#chat=long");
    const scroll = page.locator(".scroll");
    await page.locator("[data-hand=person]").last().waitFor();
    expect(await page.locator("[data-hand=person]").count()).toBe(200);
    const atEnd = () => scroll.evaluate((place) => place.scrollHeight - place.scrollTop - place.clientHeight);
    expect(await atEnd()).toBeLessThan(2);

    const read = await scroll.evaluate((place) => {
      place.scrollTo(0, 800);
      const rows = [...place.querySelectorAll<HTMLElement>(".entry")];
      const row = rows.find((candidate) => candidate.getBoundingClientRect().top > 200);
      return { id: row?.dataset.id ?? "", top: row?.getBoundingClientRect().top ?? 0 };
    });
    const topNow = () =>
      page.locator(`[data-id="${read.id}"]`).evaluate((row) => row.getBoundingClientRect().top);
    await page.getByText("here it begins").waitFor({ state: "attached" });
    expect(Math.abs((await topNow()) - read.top)).toBeLessThan(2);
    await server.submit("long", "and another");
    await page.locator(".entry", { hasText: "and another" }).waitFor({ state: "attached" });
    expect(Math.abs((await topNow()) - read.top)).toBeLessThan(2);

    await page.getByRole("button", { name: /to the end/ }).click();
    await server.submit("long", "the last word");
    await page.locator(".entry", { hasText: "the last word" }).waitFor();
    expect(await atEnd()).toBeLessThan(2);
  });

  test("everything can be done with the keyboard", async () => {
    await chat("keys");
    const page = await visit("#chat=keys");
    await say(page, "find the needle");
    await answers(page).waitFor();
    await page.locator("[data-hand=meta]").waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("k");
    await page.keyboard.press("k");
    expect(await page.locator("[aria-current=true]").getAttribute("data-hand")).toBe("assistant");
    expect(await page.evaluate(() => document.activeElement?.getAttribute("aria-current"))).toBe("true");
    await page.keyboard.press("i");
    await page.locator(".block").first().waitFor();
    await page.keyboard.press("Escape");
    await page.locator(".inspector").waitFor({ state: "detached" });
    await page.keyboard.press("/");
    await page.keyboard.type("needle");
    await page.locator(".found li").first().waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("?");
    await page.getByRole("heading", { name: "Keys and hands" }).waitFor();
    await page.keyboard.press("Escape");
    await page.locator(".sheet").waitFor({ state: "detached" });
    await page.keyboard.press("c");
    expect(await page.evaluate(() => document.activeElement?.id)).toBe("composer");
  });

  test("host news stands apart, says that no model sees it, and the inspector says so too", async () => {
    await chat("hosted");
    await server.ask("POST", "/v1/chats/hosted/host", { content: "The kitchen is closed." });
    const page = await visit("#chat=hosted");
    await say(page, "Anything new?");
    await answers(page).waitFor();
    const note = page.locator("[data-hand=host]");
    expect(await note.textContent()).toContain("the model does not see this");
    await answers(page).click();
    await page.locator(".block").first().waitFor();
    expect(await page.locator(".blocks").textContent()).not.toContain("kitchen");
    expect(await page.locator(".left-out").textContent()).toContain("The kitchen is closed.");
  });

  test("why nothing was answered is said under the message", async () => {
    await chat("mention", { trigger: "mention" });
    const page = await visit("#chat=mention");
    await say(page, "just talking");
    await page.getByText("not answered: nobody called the assistant").waitFor();
  });

  /** Somebody speaks at an address of the signed webhook channel. */
  async function push(place: string, content: string): Promise<number> {
    const [id, at] = [`${place} ${content}`.replaceAll(" ", "-"), new Date()];
    const msg_metadata = { sender_id: "shop:42", sender_display_name: "Ash", sender_type: "human" };
    const body = JSON.stringify({ place, content, msg_metadata });
    const headers = {
      "content-type": "application/json",
      "webhook-id": id,
      "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
      "webhook-signature": new Webhook(SECRET).sign(id, at, body),
    };
    return (await fetch(`${server.baseUrl}/channels/webhook/webhook`, { method: "POST", headers, body }))
      .status;
  }

  test("whoever knocked is let in with one click, and then heard", async () => {
    await push("shop", "is anybody there");
    const page = await visit("");
    await page.getByRole("button", { name: "Register webhook:shop" }).click();
    await page.locator(".knocked").waitFor({ state: "detached" });
    expect(await push("shop", "hello again")).toBe(202);
    await page.locator("[data-hand=person]", { hasText: "hello again" }).waitFor();
    expect(await page.locator("[data-hand=person] .who").textContent()).toBe("Ash · webhook");
  });

  test("what could not be delivered lies on the desk until somebody lets it go", async () => {
    // Nobody told the server where to post to, so every delivery is given up at once.
    await chat("shut", { bindings: [{ channel: "webhook", address: "webhook:shut", trace: "off" }] });
    const page = await visit("#chat=shut");
    await say(page, "can you hear me?");
    await answers(page).waitFor();
    await page.getByRole("button", { name: /^desk/ }).click();
    await page.getByText("LONGHAND_WEBHOOK_URL is not set").first().waitFor();
    for (let left = await page.locator(".letters li").count(); left > 0; left--) {
      await page.getByRole("button", { name: "Let it go" }).first().click();
      await expect.poll(() => page.locator(".letters li").count()).toBe(left - 1);
    }
    await page.getByText("every message found its way").waitFor();
  });

  test("on a phone one page is shown at a time, and nothing sticks out", async () => {
    await chat("small");
    await server.ask("POST", "/v1/chats/small/host", { content: "x".repeat(300) });
    const page = await visit("#chat=small", { width: 360 });
    await say(page, "y".repeat(300));
    await answers(page).click();
    const sticksOut = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(await sticksOut()).toBeLessThanOrEqual(0);
    await page.getByRole("button", { name: "what it saw" }).click();
    await page.locator(".block").first().waitFor();
    expect(await page.locator(".conversation").isVisible()).toBe(false);
    expect(await sticksOut()).toBeLessThanOrEqual(0);
    await page.getByRole("button", { name: /‹ small/ }).click();
    await page.getByRole("button", { name: /‹ chats/ }).click();
    expect(await page.getByRole("navigation", { name: "Chats" }).isVisible()).toBe(true);
    expect(await page.locator(".conversation").isVisible()).toBe(false);
  });

  test.each([false, true])(
    "every word can be read against its paper, lit up or not (dark: %s)",
    async (dark) => {
      if (!dark) {
        await chat("contrast");
        await server.ask("POST", "/v1/chats/contrast/host", { content: "News." });
        const { body } = await server.submit("contrast", "Read me");
        await server.outcome("contrast", body.message_id);
      }
      const page = await visit("#chat=contrast", { dark });
      await answers(page).click();
      await page.locator(".block").first().waitFor();
      for (const entry of await page.locator(".entry").all()) {
        await entry.hover();
        expect(await page.evaluate(tooPale)).toEqual([]);
      }
      await page.getByRole("button", { name: "raw bytes" }).click();
      expect(await page.evaluate(tooPale)).toEqual([]);
    },
  );
});

/** Runs in the page: writes down how long the answer is, each time it changes while it is being written. */
function watchWriting(): void {
  const lengths: number[] = [];
  new MutationObserver(() => {
    const written = document.querySelector("[data-hand=assistant][data-writing=true] .prose");
    if (!written) return;
    lengths.push(written.textContent.length);
    document.body.dataset.lengths = lengths.join(" ");
  }).observe(document.querySelector("#book") ?? document.body, {
    childList: true,
    subtree: true,
    characterData: true,
  });
}
