import { join } from "node:path";
import sharp from "sharp";

/** Looks at the page as a visitor would, and keeps what is seen. */
export async function takePictures({ browser, out, baseUrl, token }) {
  const visit = async (jid, { width = 1360, height = 820, dark = false } = {}) => {
    const context = await browser.newContext({
      viewport: { width, height },
      colorScheme: dark ? "dark" : "light",
      locale: "en-GB",
      timezoneId: "UTC",
    });
    await context.addInitScript((given) => {
      localStorage.setItem("longhand.token", given);
      localStorage.setItem("longhand.name", "Olivia");
    }, token);
    const page = await context.newPage();
    await page.goto(`${baseUrl}/#chat=${jid}`);
    await page.locator(".entry").first().waitFor();
    await page.waitForTimeout(300);
    return page;
  };
  const keep = async (page, name) => {
    await page.waitForTimeout(200);
    const picture = sharp(await page.screenshot());
    await picture.png({ palette: true, colours: 96, effort: 10 }).toFile(join(out, `${name}.png`));
  };
  const close = (page) => page.context().close();
  const answer = (page) => page.locator("[data-hand=assistant]").last();

  const dinner = await visit("dinner");
  await answer(dinner).click();
  await dinner.locator(".block").first().waitFor();
  await keep(dinner, "what-it-saw");
  await dinner.locator(".left-out").scrollIntoViewIfNeeded();
  await dinner.locator(".left-out li", { hasText: "five" }).hover();
  await keep(dinner, "left-out");
  await close(dinner);

  const lake = await visit("lake");
  await lake.getByRole("button", { name: "edited" }).click();
  await keep(lake, "forked");
  await lake.getByRole("button", { name: "branches" }).click();
  await lake.locator(".wood").waitFor();
  await keep(lake, "branches");
  await close(lake);

  const long = await visit("long");
  await answer(long).click();
  await long.locator(".block").first().waitFor();
  await long.getByText("the summary", { exact: true }).click();
  await keep(long, "compacted");
  await long.getByRole("button", { name: "what changed", exact: true }).click();
  await long.locator(".changes").waitFor();
  await keep(long, "what-changed");
  await long.getByRole("button", { name: "ask again" }).click();
  await long.getByLabel("the same request, for").fill("anthropic/claude-haiku-5-5");
  await long.getByRole("button", { name: "Ask", exact: true }).click();
  await long.locator(".both").waitFor();
  await keep(long, "ask-again");
  await long.getByRole("button", { name: "settings" }).click();
  await long.getByText("change the model").click();
  await keep(long, "models");
  await close(long);

  const people = await visit("dinner");
  await people.getByRole("button", { name: "people" }).click();
  await people.getByRole("button", { name: "Erase Olivia" }).click();
  await people.getByLabel(/To erase them/).fill("Olivia");
  await keep(people, "erase");
  await close(people);

  const phone = await visit("dinner", { width: 360, height: 720, dark: true });
  await answer(phone).click();
  await phone.getByRole("button", { name: "what it saw" }).click();
  await phone.locator(".block").first().waitFor();
  await keep(phone, "phone");
  await close(phone);
}
