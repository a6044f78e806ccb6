import { describe, expect, it } from "vitest";
import { model } from "../provider/index.js";
import { openMemory } from "../store/memory.js";
import { violations } from "../testing/crashChecks.js";
import {
  CHAT,
  type Noted,
  STORIES,
  type StoryName,
  storyChannel,
  storyShell,
  storyTools,
  tell,
} from "../testing/crashStory.js";
import {
  type Fatal,
  Life,
  mortalClock,
  mortalFetch,
  mortalStore,
  type Point,
  sampled,
} from "../testing/mortality.js";
import { StoryModel } from "../testing/storyModel.js";
import { type Clock, systemClock } from "./clock.js";
import { createGateway } from "./gateway.js";

const LONG = process.env.LONGHAND_LONG !== undefined;
const HOUR = 3_600_000;
const MODEL = model({ api: "openai-chat", id: "story", baseUrl: "http://127.0.0.1:9/v1" });

/** Somebody sets the machine's clock, by so much, at this step of the story; the server may die there too. */
type Jump = { by: number; at: Point | null; dies: boolean };

/** A story on a machine whose clock is set meanwhile. */
async function tellWithJump(story: StoryName, { by, at, dies }: Jump) {
  const store = openMemory();
  const storyModel = new StoryModel();
  const noted: Noted[] = [];
  const note = (one: Noted) => noted.push(one);
  let ahead = 0;
  let points: Point[] = [];
  const fatal: Fatal | null = at && { ...at, side: "after" };
  for (const last of dies ? [false, true] : [true]) {
    const life = new Life(last ? null : fatal);
    const startedAhead = ahead;
    const clock: Clock = {
      ...systemClock,
      now: () => systemClock.now() + ahead,
      // As the true one: by the machine's clock when the process starts, and then at the pace of time.
      steady: () => systemClock.steady() + startedAhead,
    };
    const watched = mortalStore(store, life, () => {
      const newest = life.points.at(-1);
      if (newest?.kind === at?.kind && newest?.nth === at?.nth) ahead = by;
    });
    const gateway = createGateway({
      store: watched,
      clock: mortalClock(clock, life),
      fetch: mortalFetch(storyModel.fetch, life),
      resolveModel: () => ({ ok: true, model: MODEL }),
      defaultModel: "openai/story",
      tools: storyTools(life, note, () => gateway),
      shell: storyShell(life, note),
      channels: [storyChannel(life, note)],
      holder: "the-only-one",
      limits: { saveEveryMs: 5 },
    });
    const told = (async () => {
      await gateway.start();
      await tell(story, { gateway, read: store.read, life, note });
      await gateway.stop(0);
    })();
    await Promise.race([told, life.ended]);
    points = life.points;
    if (!life.isOver) break;
  }
  const left = { story, read: store.read, noted, bodies: storyModel.bodies };
  const problems = [...storyModel.problems(), ...(await violations(left))];
  const events = await store.read.events({ after: null, chat_jid: CHAT, limit: 5000 });
  const turns = events.filter(({ type }) => type === "turn.started").length;
  const calls = await store.read.calls({ chat_jid: CHAT, turn_id: null, after: null, limit: 500 });
  const cut = calls.filter(({ error_kind }) => error_kind === "cut").length;
  return { points, problems, turns, cut, jumped: ahead !== 0 };
}

describe.each([
  ["forwards", HOUR],
  ["back", -HOUR],
])("a machine whose clock is set an hour %s in the middle of a turn", (_name, by) => {
  it.each(STORIES)(
    "runs no turn twice and loses nothing (%s)",
    async (story) => {
      const calm = await tellWithJump(story, { by: 0, at: null, dies: false });
      expect(calm.problems).toEqual([]);
      const chosen = LONG ? calm.points : sampled(calm.points, 7);
      let jumps = 0;
      for (const at of chosen) {
        const { problems, turns, cut, jumped } = await tellWithJump(story, { by, at, dies: false });
        if (jumped) jumps++;
        expect(problems, JSON.stringify(at)).toEqual([]);
        expect(turns, JSON.stringify(at)).toBe(calm.turns);
        // A lease that ran out early would have cut an answer short, to be given again.
        expect(cut, JSON.stringify(at)).toBe(0);
      }
      expect(jumps).toBeGreaterThan(chosen.length / 3);
    },
    600_000,
  );

  it("and goes down at the same moment, goes on at once when it is up again", async () => {
    const calm = await tellWithJump("steer", { by: 0, at: null, dies: false });
    for (const at of LONG ? calm.points : sampled(calm.points, 9)) {
      const { problems } = await tellWithJump("steer", { by, at, dies: true });
      expect(problems, JSON.stringify(at)).toEqual([]);
    }
  }, 600_000);
});
