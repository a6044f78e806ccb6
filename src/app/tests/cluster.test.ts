import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startHeldModel } from "../../testing/heldModel.js";
import { type PostgresServer, startPostgres } from "../../testing/postgresServer.js";
import { ServerProcess } from "../../testing/serverProcess.js";
import { createClient } from "../client/index.js";

const LONG = process.env.LONGHAND_LONG === "1";
const MESSAGES = LONG ? 600 : 120;
const RESTARTS = LONG ? 12 : 3;
const CHATS = ["one", "two", "three", "four"];
const MODES = ["steer", "queue", "collect", "interrupt"];
const ENDED_WELL = ["answered", "steered", "collected", "superseded"];

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
const servers: ServerProcess[] = [];
let postgres: PostgresServer | null = null;

beforeAll(async () => {
  postgres = await startPostgres();
}, 60_000);

afterAll(async () => {
  for (const server of servers) await server.dispose();
  await postgres?.stop();
}, 60_000);

async function startOne(env: Record<string, string>): Promise<ServerProcess> {
  const server = await ServerProcess.start(env);
  servers.push(server);
  return server;
}

/** The answers people read: every utterance of the assistant that was not cut. */
function answersIn(rows: readonly Record<string, unknown>[]): Record<string, unknown>[] {
  return rows.filter((row) => row.sender === "bot" && !(row.metadata as { cut?: boolean }).cut);
}

describe("several servers on one Postgres", () => {
  it("a server that slept past its lease finds its turn taken over, and what it writes is refused", async ({
    skip,
  }) => {
    if (!postgres) return skip();
    const model = await startHeldModel();
    const env = {
      DATABASE_URL: await postgres.database(),
      OPENAI_BASE_URL: model.baseUrl,
      LONGHAND_MODEL: "openai/held",
    };
    const sleeper = await startOne(env);
    const { body } = await sleeper.submit("home", "are you there?");
    const held = await model.next();
    sleeper.signal("SIGSTOP");
    const other = await startOne(env);
    const again = await model.next();
    again.say("I am here.");
    const outcome = await other.outcome("home", body.message_id);
    expect(outcome.outcome).toBe("answered");
    sleeper.signal("SIGCONT");
    held.say("I was asleep.");
    for (let tries = 0; tries < 200 && !/Fenced|taken over/.test(sleeper.printed); tries++) await pause(50);
    expect(sleeper.printed).toMatch(/Fenced/);
    expect(answersIn(await other.messages("home")).map((row) => row.content)).toEqual(["I am here."]);
    expect((await sleeper.outcome("home", body.message_id)).turn_id).toBe(outcome.turn_id);
    // It goes on serving, and hears of what the other one did.
    const { body: next } = await sleeper.submit("home", "and now?");
    (await model.next()).say("Still here.");
    expect((await other.outcome("home", next.message_id)).outcome).toBe("answered");
    await model.close();
  }, 180_000);

  it("any takes any message, runs any turn and serves any stream, while one is killed and Postgres crashes again and again", async ({
    skip,
  }) => {
    if (!postgres) return skip();
    const database = postgres;
    const env = { DATABASE_URL: await database.database(), LONGHAND_DEMO_DELAY_MS: "3" };
    const [first, second, third] = [await startOne(env), await startOne(env), await startOne(env)];
    const all = [first, second, third];
    for (const [index, jid] of CHATS.entries()) {
      const body = { jid, trigger: "always", while_busy: MODES[index] };
      expect((await first.ask("POST", "/v1/chats", body)).status).toBe(201);
    }
    const closing = new AbortController();
    const streams = all.map((server) => listen(server, closing.signal));
    await Promise.all(streams.map(({ open }) => open));
    const refused = { unavailable: 0, other: [] as number[] };
    const acknowledged = new Map<string, { chat: string; id: string }>();
    let number = 0;
    let calm = false;
    const speak = async () => {
      while (number < MESSAGES || !calm) {
        const mine = number++;
        const chat = CHATS[mine % CHATS.length] ?? "one";
        for (;;) {
          // Whoever is not heard says it again, to another server: the platform's id tells that it is the same.
          const server = all[Math.floor(Math.random() * all.length)] ?? first;
          const metadata = { external_message_id: `m${mine}`, channel_external_id: chat };
          const answer = await server.submit(chat, `question ${mine}`, metadata).catch(() => null);
          if (answer?.status === 202 || answer?.status === 200) {
            acknowledged.set(`question ${mine}`, { chat, id: String(answer.body.message_id) });
            break;
          }
          if (answer?.status === 503) refused.unavailable++;
          else if (answer) refused.other.push(answer.status);
          await pause(20);
        }
        await pause(60);
      }
    };
    const speaking = Promise.all(Array.from({ length: 8 }, speak));
    const back: number[] = [];
    const trouble = async () => {
      await pause(500);
      await third.down("SIGKILL");
      await third.up();
      for (let restart = 0; restart < RESTARTS; restart++) {
        await pause(700);
        await database.restart("immediate");
        const up = performance.now();
        while ((await first.ask("GET", "/v1/chats/one").catch(() => null))?.status !== 200) await pause(5);
        back.push(Math.round(performance.now() - up));
      }
      calm = true;
    };
    await Promise.all([speaking, trouble()]);
    for (const { chat, id } of acknowledged.values()) {
      const { outcome } = await eventually(() => second.outcome(chat, id));
      expect(ENDED_WELL).toContain(outcome);
    }
    await checkChats(first, acknowledged);
    const log = await wholeLog(first);
    await eventually(async () => {
      for (const { heard } of streams) expect(heard.length).toBeGreaterThanOrEqual(log.length);
    });
    closing.abort();
    for (const { heard } of streams) expect(heard).toEqual(log);
    expect(refused.other).toEqual([]);
    console.info(
      `3 servers, 1 killed, ${RESTARTS} crashes of Postgres: ${acknowledged.size} messages accepted, 0 lost, 0 doubled, ` +
        `${refused.unavailable} times 503, back after ${back.join(", ")} ms, ${log.length} events in each of 3 streams`,
    );
  }, 600_000);
});

/** Every stored event a server tells, by cursor, across lost connections. */
function listen(server: ServerProcess, signal: AbortSignal) {
  const heard: string[] = [];
  let isOpen = () => {};
  const open = new Promise<void>((resolve) => {
    isOpen = resolve;
  });
  const client = createClient({ baseUrl: server.baseUrl, token: server.token });
  void (async () => {
    const onState = (state: "open" | "lost") => state === "open" && isOpen();
    for await (const event of client.events({ signal, onState, backoffMs: 50 })) {
      if (event.type !== "turn.delta" && event.type !== "turn.snapshot") heard.push(event.cursor);
    }
  })().catch(() => {});
  return { heard, open };
}

/** The cursors of everything since the chats were made. */
async function wholeLog(server: ServerProcess): Promise<string[]> {
  const closing = new AbortController();
  const client = createClient({ baseUrl: server.baseUrl, token: server.token });
  const cursors: string[] = [];
  const types: string[] = [];
  const quiet = setInterval(() => {
    if (cursors.length === before) closing.abort();
    before = cursors.length;
  }, 1500);
  let before = -1;
  for await (const event of client.events({ signal: closing.signal, after: "0" })) {
    cursors.push(event.cursor);
    types.push(event.type);
  }
  clearInterval(quiet);
  // The first ones tell of chats: those were there before the streams were open.
  return cursors.filter((_, index) => types[index] !== "chat");
}

async function checkChats(
  server: ServerProcess,
  acknowledged: ReadonlyMap<string, { chat: string }>,
): Promise<void> {
  for (const chat of CHATS) {
    const rows = await server.messages(chat);
    expect(rows.map((row) => row.seq)).toEqual(rows.map((_, index) => index + 1));
    const said = rows.filter((row) => row.message_type === "user" && row.sender !== "bot");
    const expected = [...acknowledged].filter(([, to]) => to.chat === chat).map(([words]) => words);
    expect(said.map((row) => row.content).sort()).toEqual(expected.sort());
    const ended = rows.filter((row) => row.sender === "result_meta").map((row) => row.turn_id);
    expect(new Set(ended).size, "a turn ended twice").toBe(ended.length);
  }
}

/** Tries again while the database comes back. */
async function eventually<T>(look: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await look();
    } catch (error) {
      if (tries > 200) throw error;
      await pause(100);
    }
  }
}
