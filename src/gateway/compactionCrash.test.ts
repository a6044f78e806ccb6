import { afterEach, expect, test } from "vitest";
import { openMemory } from "../store/memory.js";
import type { Store } from "../store/store.js";
import { gateways } from "../testing/heldHome.js";
import {
  type Fatal,
  Life,
  mortalClock,
  mortalFetch,
  mortalStore,
  type Point,
  sampled,
} from "../testing/mortality.js";
import { smallHome } from "../testing/smallHome.js";
import { SmallModel } from "../testing/smallModel.js";
import { until } from "../testing/talk.js";
import { systemClock } from "./clock.js";

// Who is dead cannot be stopped, and the living stop themselves.
afterEach(() => void gateways.splice(0));

const EVERY = process.env.LONGHAND_LONG ? 1 : 2;
const LINES = "lorem ipsum dolor ".repeat(50);

type Told = { store: Store; small: SmallModel; points: Point[] };
type Story = (home: Awaited<ReturnType<typeof smallHome>>) => Promise<unknown>;

/** A chat that is nearly full; then a story, in which the server may die once and be started again. */
async function tell(story: Story, fatal: Fatal | null): Promise<Told> {
  const small = new SmallModel(2000);
  const store = openMemory();
  const before = await smallHome(small, { store });
  await before.talk(5, LINES);
  await before.gateway.stop();
  let points: Point[] = [];
  for (const last of fatal ? [false, true] : [true]) {
    const life = new Life(last ? null : fatal);
    const told = smallHome(small, {
      store: mortalStore(store, life),
      clock: mortalClock(systemClock, life),
      fetch: mortalFetch(small.fetch, life),
      holder: "the-only-one",
    }).then(async (home) => {
      if (fatal === null || !last) await story(home);
      await settled(store);
      await home.gateway.stop();
    });
    await Promise.race([told, life.ended]);
    points = life.points;
  }
  return { store, small, points };
}

async function settled(store: Store): Promise<void> {
  await until(async () => (await store.read.work("turn", 'turn:["home",""]', 9)).length === 0);
}

async function checks({ store, small }: Told): Promise<void> {
  expect(small.broken).toEqual([]);
  expect(small.overflows).toEqual([]);
  const calls = await store.read.calls({ chat_jid: "home", turn_id: null, after: null, limit: 500 });
  expect(calls.filter(({ status }) => status === "running")).toEqual([]);
  const head = await store.read.head("home", "");
  const path = await store.read.path("home", head ?? "", 500);
  expect(path.filter(({ kind }) => kind === "compaction")).toHaveLength(1);
  expect(path[0]?.kind).toBe("compaction");
  expect(await store.read.runningTurns(null)).toEqual([]);
}

/** The story without a death, for its steps; then one life each, that ends at one of them. */
async function everywhere(story: Story, check: (told: Told) => Promise<void>): Promise<number> {
  const whole = await tell(story, null);
  await checks(whole);
  await check(whole);
  const writes = whole.points.filter(({ kind }) => /^(commit (?!chat)|settle|request)/.test(kind));
  const deaths = sampled(writes, EVERY).flatMap((point) =>
    (["before", "after"] as const).map((side): Fatal => ({ ...point, side })),
  );
  for (const fatal of deaths) {
    const told = await tell(story, fatal);
    // Dead before anything was accepted: there is nothing to go on with.
    if ((await newWords(told)) === 0) continue;
    await checks(told).catch((error: unknown) => {
      throw new Error(`${fatal.side} ${fatal.kind} ${fatal.nth}: ${String(error)}`);
    });
    await check(told);
  }
  return deaths.length;
}

/** How much there is beside what was said before the story. */
async function newWords({ store, small }: Told): Promise<number> {
  const rows = await store.read.messages({
    chat_jid: "home",
    after_seq: 0,
    before_seq: null,
    limit: 500,
    message_type: "user",
    sender: null,
  });
  return rows.length - 5 + small.summaries.length;
}

test("a turn that the server's death cut short while it compacted is answered once, with one compaction", async () => {
  const deaths = await everywhere(
    async ({ home }) => home.outcome(await home.say(`last: ${LINES}`)),
    async ({ store, small }) => {
      expect(small.summaries.length).toBeGreaterThan(0);
      const rows = await store.read.messages({
        chat_jid: "home",
        after_seq: 0,
        before_seq: null,
        limit: 500,
        message_type: null,
        sender: "bot",
      });
      expect(rows.filter(({ metadata }) => metadata.cut !== true)).toHaveLength(6);
    },
  );
  console.log(`${deaths} deaths in a turn that compacts`);
}, 120_000);

test("a compaction that was asked for is made, once, whenever the server dies", async () => {
  const deaths = await everywhere(
    async ({ gateway }) => gateway.compact("home"),
    async ({ store }) => {
      const entries = await store.read.entries("home", 500);
      expect(entries.filter(({ kind }) => kind === "compaction")).toHaveLength(1);
    },
  );
  console.log(`${deaths} deaths in a compaction that was asked for`);
}, 120_000);
