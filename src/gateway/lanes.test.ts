import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { openMemory } from "../store/memory.js";
import { openSqlite } from "../store/sqlite.js";
import type { Store } from "../store/store.js";
import { systemClock } from "./clock.js";
import { Lanes, type LanesHall } from "./lanes.js";

const STORES = {
  "in memory": async () => openMemory(),
  // Here a look that was asked for behind a write sees it, and need not be made again.
  "on SQLite": () => openSqlite({ path: join(folder(), "longhand.db") }),
};

it.each(Object.entries(STORES))(
  "does what was written at once, whoever looked just before or behind it, %s",
  async (_, open) => {
    const store = await open();
    onTestFinished(() => store.close());
    const done = new Set<string>();
    const lanes = new Lanes(hallWithoutNet(store), "turn", 8, async ({ lane, fence, work }) => {
      for (const { id } of work) done.add(id);
      const settlement = { lease: { lane, fence }, done: work.map(({ id }) => id), later: [], release: true };
      await store.settle({ ...settlement, facts: [] });
    });
    lanes.start();
    onTestFinished(() => lanes.stop(0));
    for (let number = 0; number < 30; number++) {
      // Nobody is at work, and nobody is looking.
      await expect.poll(() => done.size).toBe(number);
      await setTimeout(10);
      if (number % 3 === 1) lanes.wake();
      const written = store.commit({ facts: [{ type: "work", work: turnWork(`w${number}`) }] });
      if (number % 3 === 2) lanes.wake();
      await written;
    }
    await expect.poll(() => done.size).toBe(30);
  },
);

function turnWork(id: string) {
  return { id, kind: "turn" as const, lane: "lane", chat_jid: "home", ref: id, run_at: 0, attempts: 0 };
}

/** What lanes need of a hall; nobody looks again by and by for what was overlooked. */
function hallWithoutNet(store: Store): LanesHall {
  return {
    store,
    holder: "here",
    limits: { leaseMs: 60_000 },
    clock: { ...systemClock, every: () => () => {} },
    log: () => {},
  };
}

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "longhand-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
