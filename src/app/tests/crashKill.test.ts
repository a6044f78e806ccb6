import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPostgres } from "../../store/postgres.js";
import { openSqlite } from "../../store/sqlite.js";
import type { Store } from "../../store/store.js";
import { violations } from "../../testing/crashChecks.js";
import { type Noted, STORIES, type StoryName } from "../../testing/crashStory.js";
import { type Fatal, type Point, sampled } from "../../testing/mortality.js";
import { type PostgresServer, startPostgres } from "../../testing/postgresServer.js";
import { StoryModel } from "../../testing/storyModel.js";

const LONG = process.env.LONGHAND_LONG !== undefined;
const CHILD = fileURLToPath(new URL("fixtures/crashing.mjs", import.meta.url));
/** Deaths of each story on each store, in the short form. */
const SHORT = 3;
/** Steps that leave a trace somewhere; in the short form nobody dies at a read. */
const TRACES = /^(commit|settle|claim|release|request|piece|tool|shell|send)/;

const folder = mkdtempSync(join(tmpdir(), "longhand-kill-"));
let postgres: PostgresServer | null = null;
let listening: Server;
const models = new Map<string, StoryModel>();

beforeAll(async () => {
  postgres = await startPostgres();
  listening = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(Buffer.from(piece as Uint8Array));
    const storyModel = models.get(request.url?.split("/")[1] ?? "");
    const left = new AbortController();
    response.on("close", () => left.abort());
    response.writeHead(200, { "content-type": "text/event-stream" });
    const lines = storyModel?.answer(Buffer.concat(pieces).toString(), left.signal) ?? [];
    for await (const line of lines) {
      await new Promise((resolve) => (left.signal.aborted ? resolve(null) : response.write(line, resolve)));
    }
    response.end();
  });
  await new Promise<void>((resolve) => listening.listen(0, "127.0.0.1", resolve));
});

afterAll(async () => {
  listening.closeAllConnections();
  listening.close();
  await postgres?.stop();
  rmSync(folder, { recursive: true, force: true });
  // After a long run there are a thousand databases to put to rest.
}, 300_000);

type Place = { sqlite: string } | { postgres: string };
type Ended = { signal: string | null; code: number | null; printed: string };
type Told = { points: Point[]; deaths: number; problems: string[] };

/** One life of the process, to its end. */
async function live(given: Record<string, unknown>): Promise<Ended> {
  const child = spawn(process.execPath, [CHILD, JSON.stringify(given)], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let printed = "";
  child.stdout.on("data", (data) => (printed += data));
  child.stderr.on("data", (data) => (printed += data));
  return new Promise((resolve) => child.once("close", (code, signal) => resolve({ code, signal, printed })));
}

let runs = 0;

/** A story told by a process that is killed at a step, and then by one that is not. */
async function tellThrough(story: StoryName, fatal: Fatal | null, place: Place): Promise<Told> {
  const name = `run${runs++}`;
  const storyModel = new StoryModel();
  models.set(name, storyModel);
  const { port } = listening.address() as { port: number };
  const notes = join(folder, `${name}.notes`);
  const given = { story, store: place, notes, baseUrl: `http://127.0.0.1:${port}/${name}/v1` };
  let deaths = 0;
  for (const dies of fatal ? [fatal, null] : [null]) {
    const { code, signal, printed } = await live({ ...given, fatal: dies });
    if (signal === "SIGKILL") deaths++;
    else if (code !== 0)
      return { points: [], deaths, problems: [`the process ended with ${code}: ${printed}`] };
    else break;
  }
  const lines = readFileSync(notes, "utf8").split("\n").filter(Boolean);
  const noted = lines.map((line) => JSON.parse(line) as Noted | { what: "told"; points: Point[] });
  const told = noted.findLast((one) => one.what === "told");
  const seen = noted.filter((one) => one.what !== "told");
  const store = await open(place);
  try {
    const left = { story, read: store.read, noted: seen, bodies: storyModel.bodies };
    const problems = [...storyModel.problems(), ...(await violations(left))];
    return { points: told?.points ?? [], deaths, problems };
  } finally {
    await store.close();
  }
}

function open(place: Place): Promise<Store> {
  return "sqlite" in place ? openSqlite({ path: place.sqlite }) : openPostgres({ url: place.postgres });
}

let places = 0;
const PLACES: Record<string, () => Promise<Place | null>> = {
  SQLite: async () => ({ sqlite: join(folder, `${places++}.db`) }),
  Postgres: async () => (postgres ? { postgres: await postgres.database() } : null),
};

async function tellAll(story: StoryName, fatals: readonly Fatal[], newPlace: () => Promise<Place | null>) {
  const waiting = [...fatals];
  const problems: string[] = [];
  let died = 0;
  const work = async () => {
    for (let fatal = waiting.shift(); fatal; fatal = waiting.shift()) {
      const place = await newPlace();
      if (!place) return;
      const told = await tellThrough(story, fatal, place);
      died += told.deaths;
      problems.push(...told.problems.map((problem) => `${JSON.stringify(fatal)}: ${problem}`));
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  return { problems, died };
}

/** Spread over a story, one side and the other by turns; in the long form all of it. */
function spread(points: readonly Point[]): Fatal[] {
  if (LONG) return points.flatMap((point) => [dying(point, "before"), dying(point, "after")]);
  const telling = sampled(points, 1).filter(({ kind }) => TRACES.test(kind));
  const every = Math.ceil(telling.length / SHORT);
  return telling
    .filter((_, index) => index % every === Math.floor(every / 2))
    .map((point, index) => dying(point, index % 2 === 0 ? "after" : "before"));
}

function dying(point: Point, side: Fatal["side"]): Fatal {
  return { ...point, side };
}

describe.each(Object.entries(PLACES))("a process killed at any step of a turn, on %s", (name, newPlace) => {
  it.each(STORIES)(
    "leaves nothing lost, doubled or half done (%s)",
    async (story) => {
      const place = await newPlace();
      if (!place) return;
      const whole = await tellThrough(story, null, place);
      expect(whole.problems).toEqual([]);
      const fatals = spread(whole.points);
      const { problems, died } = await tellAll(story, fatals, newPlace);
      const kinds = new Set(fatals.map(({ kind }) => kind));
      console.log(
        `kill -9, ${name}, ${story}: ${fatals.length} of ${2 * whole.points.length} places to die, ${kinds.size} kinds: ${died} deaths, ${problems.length} violations`,
      );
      expect(problems).toEqual([]);
      expect(died).toBeGreaterThan(fatals.length / 2);
    },
    3_600_000,
  );
});
