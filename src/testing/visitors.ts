import { existsSync } from "node:fs";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import type { ServerProcess } from "./serverProcess.js";

const CANDIDATES = [
  process.env.LONGHAND_CHROMIUM ?? "",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];
/** A browser on this machine, or null. */
export const CHROMIUM = CANDIDATES.find((path) => path !== "" && existsSync(path)) ?? null;
const WHY_NOT = "no Chromium was found: `apt-get install chromium`, or set LONGHAND_CHROMIUM to one";
/** For the title of what is skipped. */
export const SKIPPED = CHROMIUM === null ? ` (skipped: ${WHY_NOT})` : "";
if (CHROMIUM === null) console.warn(`\n  The web page is NOT tested in a real browser here: ${WHY_NOT}.\n`);

const ARGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"];
const QUIET_ARGS = ["--disable-background-networking", "--disable-component-update", "--disable-sync"];

export type Visit = { token?: boolean; width?: number; dark?: boolean; deaf?: boolean };

/** People in front of the page, each in a browser of their own. */
export class Visitors {
  private readonly contexts: BrowserContext[] = [];
  /** What a page complained about: a blocked script, an exception. */
  readonly complaints: string[] = [];

  private constructor(
    private readonly server: ServerProcess,
    private readonly browser: Browser,
  ) {}

  static async of(server: ServerProcess): Promise<Visitors> {
    const args = [...ARGS, ...QUIET_ARGS];
    return new Visitors(server, await chromium.launch({ executablePath: CHROMIUM ?? "", args }));
  }

  /** A person's browser. With a token it is one that has been here before. */
  async visit(path: string, more: Visit = {}): Promise<Page> {
    const context = await this.browser.newContext({
      viewport: { width: more.width ?? 1300, height: 800 },
      colorScheme: more.dark ? "dark" : "light",
      locale: "en-GB",
    });
    this.contexts.push(context);
    if (more.token !== false) {
      await context.addInitScript(
        (token) => localStorage.setItem("longhand.token", token),
        this.server.token,
      );
    }
    const page = await context.newPage();
    page.setDefaultTimeout(15_000);
    if (more.deaf) await page.route("**/v1/events*", (route) => route.abort());
    page.on("pageerror", (error) => this.complaints.push(String(error)));
    page.on("dialog", (dialog) => this.complaints.push(`a dialog: ${dialog.message()}`));
    page.on("console", (message) => {
      if (/Content.Security.Policy/i.test(message.text())) this.complaints.push(message.text());
    });
    await page.goto(`${this.server.baseUrl}/${path}`);
    return page;
  }

  /** Everybody closes the page. Gives what the pages complained about. */
  async leave(): Promise<string[]> {
    await Promise.all(this.contexts.splice(0).map((context) => context.close()));
    return this.complaints.splice(0);
  }

  async close(): Promise<void> {
    await this.browser.close();
  }
}

/** Types into the composer, and sends. */
export async function say(page: Page, words: string): Promise<void> {
  await page.getByLabel(/^Write in/).fill(words);
  await page.keyboard.press("Enter");
}

/** Runs in the page: every visible text whose contrast with what lies behind it is below AA. */
export function tooPale(): string[] {
  const channels = (color: string): number[] => (color.match(/[\d.]+/g) ?? []).map(Number);
  const light = (color: number[]): number => {
    const [r = 0, g = 0, b = 0] = color.map((value) => {
      const part = value / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const paper = (element: Element | null): number[] => {
    if (!element) return [255, 255, 255];
    const color = channels(getComputedStyle(element).backgroundColor);
    return color.length === 3 || color[3] === 1 ? color.slice(0, 3) : paper(element.parentElement);
  };
  const isShown = (element: Element): boolean => {
    const style = getComputedStyle(element);
    const box = element.getBoundingClientRect();
    return style.visibility === "visible" && style.opacity !== "0" && box.width > 1 && box.height > 1;
  };
  const found: string[] = [];
  for (const element of document.querySelectorAll("#book *")) {
    const text = [...element.childNodes]
      .filter((node) => node.nodeType === Node.TEXT_NODE)
      .map((node) => node.textContent ?? "");
    if (
      text.join("").trim() === "" ||
      !isShown(element) ||
      element.closest(":disabled, summary")?.matches(":disabled")
    )
      continue;
    const [one, two] = [light(channels(getComputedStyle(element).color).slice(0, 3)), light(paper(element))];
    const contrast = (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
    if (contrast < 4.5)
      found.push(`${contrast.toFixed(2)} ${element.className} ${text.join("").trim().slice(0, 30)}`);
  }
  return found;
}

/** Runs in the page: every control and landmark that a screen reader could not tell by a name, and every id used twice. */
export function nameless(): string[] {
  const isShown = (element: Element): boolean =>
    element.checkVisibility({ visibilityProperty: true }) && !element.closest("[aria-hidden=true]");
  const labelled = (element: Element): string => {
    const ids = (element.getAttribute("aria-labelledby") ?? "").split(" ");
    const named = ids.map((id) => document.getElementById(id)?.textContent ?? "").join("");
    const labels = "labels" in element && element.labels instanceof NodeList ? [...element.labels] : [];
    const text = labels.map((label) => label.textContent ?? "").join("");
    return `${element.getAttribute("aria-label") ?? ""}${named}${text}`.trim();
  };
  const controls = "button, a, input, select, textarea, summary, dialog, nav, aside, section, [role=log]";
  const found = [...document.querySelectorAll(`#book :is(${controls})`)].filter((element) => {
    const speaks = element.matches("button, a, summary") && (element.textContent ?? "").trim() !== "";
    return isShown(element) && !speaks && labelled(element) === "";
  });
  const ids = [...document.querySelectorAll("[id]")].map(({ id }) => id);
  const twice = ids.filter((id, index) => ids.indexOf(id) !== index);
  return [...found.map((element) => element.outerHTML.slice(0, 120)), ...twice.map((id) => `twice: #${id}`)];
}
