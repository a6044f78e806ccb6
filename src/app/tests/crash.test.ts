import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { createGateway, systemClock } from "../../gateway/index.js";
import { model } from "../../provider/index.js";
import { openMemory } from "../../store/memory.js";
import { openSqlite } from "../../store/sqlite.js";
import type { Store } from "../../store/store.js";
import { violations } from "../../testing/crashChecks.js";
import {
  type Note,
  type Noted,
  noteWrites,
  STORIES,
  type StoryName,
  storyChannel,
  storyShell,
  storyTools,
  tell,
} from "../../testing/crashStory.js";
import {
  type Fatal,
  Life,
  type Point,
  mortalClock,
  mortalFetch,
  mortalStore,
  sampled,
} from "../../testing/mortality.js";
import { StoryModel } from "../../testing/storyModel.js";

/**
 * A process that dies at a step is played here: from that step on nothing it does is done and nothing it hears is heard.
 * So hundreds of deaths take seconds. Real processes are really killed in crashKill.test.ts.
 */
const LONG = process.env.LONGHAND_LONG !== undefined;
const AT_ONCE = 12;

const MODEL = model({
  api: "openai-chat",
  id: "story",
  baseUrl: "http://127.0.0.1:9/v1",
  price: { input: 1, output: 2, cacheRead: 1, cacheWrite: 1 },
});

const folder = mkdtempSync(join(tmpdir(), "longhand-crash-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const openInMemory = async (): Promise<Store> => openMemory();
let databases = 0;
const STORES: Record<string, () => Promise<Store>> = {
  memory: openInMemory,
  SQLite: () => openSqlite({ path: join(folder, `${databases++}.db`) }),
};

type Told = { points: Point[]; deaths: number; problems: string[]; noted: Noted[] };

/** Tells a story in as many lives as it takes: one for each death, and one to the end. */
async function tellThrough(
  story: StoryName,
  deaths: readonly Fatal[],
  open: () => Promise<Store>,
): Promise<Told> {
  const store = await open();
  const storyModel = new StoryModel();
  const noted: Noted[] = [];
  let points: Point[] = [];
  let died = 0;
  try {
    for (const fatal of [...deaths, null]) {
      const life = new Life(fatal);
      const told = live(story, life, store, storyModel, (one) => noted.push(one));
      await Promise.race([told, life.ended]);
      points = life.points;
      if (!life.isOver) break;
      died++;
    }
    const left = { story, read: store.read, noted, bodies: storyModel.bodies };
    return { points, deaths: died, problems: [...storyModel.problems(), ...(await violations(left))], noted };
  } catch (error) {
    return { points, deaths: died, problems: [String(error)], noted };
  } finally {
    await store.close();
  }
}

async function live(
  story: StoryName,
  life: Life,
  store: Store,
  storyModel: StoryModel,
  note: Note,
): Promise<void> {
  const gateway = createGateway({
    store: mortalStore(store, life, noteWrites(note)),
    clock: mortalClock(systemClock, life),
    fetch: mortalFetch(storyModel.fetch, life),
    resolveModel: () => ({ ok: true, model: MODEL }),
    defaultModel: "openai/story",
    tools: storyTools(life, note, () => gateway),
    shell: storyShell(life, note),
    channels: [storyChannel(life, note)],
    holder: "the-only-one",
    limits: { saveEveryMs: 1 },
  });
  await gateway.start();
  await tell(story, { gateway, read: store.read, life, note });
  await gateway.stop(0);
}

/** Every story told with each list of deaths, a few at a time. */
async function tellAll(story: StoryName, lists: readonly Fatal[][], open: () => Promise<Store>) {
  const waiting = [...lists];
  const problems: string[] = [];
  let died = 0;
  const work = async () => {
    for (let deaths = waiting.shift(); deaths; deaths = waiting.shift()) {
      const told = await tellThrough(story, deaths, open);
      died += told.deaths;
      problems.push(...told.problems.map((problem) => `${JSON.stringify(deaths)}: ${problem}`));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return { problems, died };
}

describe.each(Object.entries(STORES))("a process that dies at any step of a turn, on %s", (name, open) => {
  it.each(STORIES)(
    "leaves nothing lost, doubled or half done (%s)",
    async (story) => {
      const whole = await tellThrough(story, [], open);
      expect(whole.problems).toEqual([]);
      const points = LONG ? whole.points : sampled(whole.points, name === "memory" ? 1 : 5);
      const lists = points.flatMap((point): Fatal[][] => [
        [{ ...point, side: "before" }],
        [{ ...point, side: "after" }],
      ]);
      const { problems, died } = await tellAll(story, lists, open);
      const kinds = new Set(points.map(({ kind }) => kind));
      console.log(
        `${name}, ${story}: ${points.length} of ${whole.points.length} points, ${kinds.size} kinds, both sides: ${died} deaths, ${problems.length} violations`,
      );
      expect(problems).toEqual([]);
      expect(died).toBeGreaterThan(lists.length / 2);
    },
    600_000,
  );
});

describe("a process that dies again while it takes up what the last one left", () => {
  it.each(STORIES)(
    "leaves nothing lost, doubled or half done (%s)",
    async (story) => {
      const { points } = await tellThrough(story, [], openInMemory);
      const random = randomFrom(LONG ? Date.now() % 1_000_000 : 1);
      const anyDeath = (): Fatal => {
        const point = points[Math.floor(random() * points.length)] ?? { kind: "claim", nth: 1 };
        return { ...point, side: random() < 0.5 ? "before" : "after" };
      };
      const lists = Array.from({ length: LONG ? 400 : 16 }, () => [anyDeath(), anyDeath(), anyDeath()]);
      const { problems, died } = await tellAll(story, lists, openInMemory);
      console.log(
        `${story}: ${lists.length} times up to three deaths: ${died}, ${problems.length} violations`,
      );
      expect(problems).toEqual([]);
      expect(died).toBeGreaterThan(lists.length);
    },
    600_000,
  );
});

describe("a shell command whose server dies", () => {
  const runs = ({ noted }: Told) => noted.filter((one) => one.what === "ran" && one.name === "shell").length;

  it("before it was started is run when the server is up again", async () => {
    const told = await tellThrough("steer", [{ kind: "settle", nth: 1, side: "before" }], openInMemory);
    expect([told.problems, told.deaths, runs(told)]).toEqual([[], 1, 1]);
  });

  it("while it may be running is not run again", async () => {
    const told = await tellThrough("steer", [{ kind: "settle", nth: 1, side: "after" }], openInMemory);
    expect([told.problems, told.deaths, runs(told)]).toEqual([[], 1, 0]);
  });
});

/** Numbers from 0 to 1 that are the same in every run with one seed. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
