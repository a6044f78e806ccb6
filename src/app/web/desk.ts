import type { KnownAddress } from "../client/index.js";
import { openChat } from "./reading.js";
import { explain, type Page } from "./state.js";

/** Makes a chat of an address that knocked. */
export async function register(page: Page, { address, channel, name }: KnownAddress): Promise<void> {
  await attempt(page, async () => {
    const jid = address.replace(/\s+/g, "_");
    await page.client.registerChat({
      jid,
      name: name || address,
      bindings: [{ channel, address, mode: "both", trace: "short", threads: "shared" }],
    });
    page.set({ addresses: page.state().addresses.filter((other) => other.address !== address) });
    await openChat(page, jid);
  });
}

/** Begins a chat that lives on this page alone; there the assistant always answers. */
export async function begin(page: Page, name: string): Promise<void> {
  await attempt(page, async () => {
    const jid = name.trim().replace(/\s+/g, "-");
    await page.client.registerChat({ jid, name: name.trim(), trigger: "always" });
    await openChat(page, jid);
  });
}

/** Tries a delivery again that was given up. */
export async function retry(page: Page, id: string): Promise<void> {
  await attempt(page, () => page.client.retryDelivery(id));
  await recount(page);
}

/** Gives a delivery up for good. */
export async function drop(page: Page, id: string): Promise<void> {
  await attempt(page, () => page.client.dropDelivery(id));
  await recount(page);
}

async function recount(page: Page): Promise<void> {
  await attempt(page, async () =>
    page.set({ dead: (await page.client.outbox({ state: "dead", limit: 500 })).outbox }),
  );
}

async function attempt(page: Page, work: () => Promise<void>): Promise<void> {
  try {
    await work();
    page.set({ trouble: null });
  } catch (error) {
    page.set({ trouble: explain(page, error) });
  }
}
