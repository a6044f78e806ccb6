import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { openPostgres } from "../../store/postgres.js";
import { openSqlite } from "../../store/sqlite.js";
import type { Store } from "../../store/store.js";
import { startPostgres } from "../../testing/postgresServer.js";
import { ServerProcess } from "../../testing/serverProcess.js";

const MAIN = fileURLToPath(new URL("../../../dist/app/command/main.js", import.meta.url));
const postgres = await startPostgres();
afterAll(() => postgres?.stop());

const servers: ServerProcess[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.dispose();
});

async function started(env: Record<string, string> = {}): Promise<ServerProcess> {
  const server = await ServerProcess.start(env);
  servers.push(server);
  return server;
}

describe.skipIf(!postgres)("on Postgres", () => {
  const database = async () => (await postgres?.database()) ?? "";

  it("DATABASE_URL is all it takes: two servers, one conversation", async () => {
    const url = await database();
    const one = await started({ DATABASE_URL: url });
    const two = await started({ DATABASE_URL: url });
    const said = await one.submit("home", "hello from the first");
    expect(said.status).toBe(202);
    expect(await two.outcome("home", said.body.message_id)).toMatchObject({ outcome: "answered" });
    const again = await two.submit("home", "and from the second");
    await one.outcome("home", again.body.message_id);
    expect(await one.messages("home")).toEqual(await two.messages("home"));
    expect(existsSync(join(one.data, "longhand.db"))).toBe(false);
    for (const server of [one, two]) {
      expect(server.printed).toContain(new URL(url).host);
      expect(server.printed).not.toContain("password");
    }
  });

  // As long as a lease.
  it.runIf(process.env.LONGHAND_LONG === "1")(
    "what a server that was killed had begun is done by another",
    async () => {
      const url = await database();
      const one = await started({ DATABASE_URL: url, LONGHAND_DEMO_DELAY_MS: "200" });
      const said = await one.submit("home", "tell me a long story please");
      await new Promise((resolve) => setTimeout(resolve, 300));
      await one.down();
      const two = await started({ DATABASE_URL: url });
      expect(await two.outcome("home", said.body.message_id)).toMatchObject({ outcome: "answered" });
    },
  );

  it("moves everything, byte for byte, and the conversation goes on", async () => {
    const server = await started();
    for (const words of ["hello", "what time is it?", "wörter 日本 🚤 \u001a odd"]) {
      const { body } = await server.submit("home", words);
      await server.outcome("home", body.message_id);
    }
    await server.ask("POST", "/v1/people", { name: "Olivia", senders: ["slack:U06STGBF4Q0"] });
    await server.ask("POST", "/v1/tokens", { name: "reader", scopes: ["read"] });
    const before = await server.messages("home");
    await server.down("SIGTERM");
    const url = await database();
    const first = await run(["migrate", "--from", server.data, "--to", url]);
    expect(first).toMatchObject({ code: 0 });
    expect(first.out).toMatch(/Moved 1 chats with \d+ messages/);
    expect(first.err).toMatch(/messages \d+ of \d+/);
    expect(first.out + first.err).not.toContain("password");
    const second = await run(["migrate", "--from", server.data], { DATABASE_URL: url });
    expect(second).toMatchObject({ code: 4 });
    expect(second.err).toContain("not empty");
    const [sqlite, moved] = [await openSqlite({ path: server.database }), await openPostgres({ url })];
    expect(await everything(moved)).toEqual(await everything(sqlite));
    await sqlite.close();
    await moved.close();
    await server.up({ DATABASE_URL: url });
    expect(await server.messages("home")).toEqual(before);
    const next = await server.submit("home", "do you still know me?");
    expect(next.body.seq).toBe(before.length + 1);
    expect(await server.outcome("home", next.body.message_id)).toMatchObject({ outcome: "answered" });
  });

  it("refuses what it cannot move, and says what to do", async () => {
    const server = await started();
    const url = await database();
    const running = await run(["migrate", "--from", server.data, "--to", url]);
    expect(running).toMatchObject({ code: 2 });
    expect(running.err).toContain("Another server is running");
    expect((await run(["migrate", "--from", "/nowhere", "--to", url])).err).toContain("no longhand.db");
    expect((await run(["migrate", "--from", server.data])).err).toContain("DATABASE_URL");
    await server.down();
    const away = await run([
      "migrate",
      "--from",
      server.data,
      "--to",
      "postgres://u:open-sesame@127.0.0.1:9/d",
    ]);
    expect(away).toMatchObject({ code: 3 });
    expect(away.err).toContain("Nothing was moved");
    expect(away.err).not.toContain("open-sesame");
  });
});

type Ended = { code: number | null; out: string; err: string };

function run(args: string[], env: Record<string, string> = {}): Promise<Ended> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [MAIN, ...args], {
      cwd: "/",
      env: { PATH: process.env.PATH ?? "", ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const ended: Ended = { code: null, out: "", err: "" };
    child.stdout.on("data", (chunk) => {
      ended.out += chunk;
    });
    child.stderr.on("data", (chunk) => {
      ended.err += chunk;
    });
    child.on("close", (code) => resolve({ ...ended, code }));
  });
}

/** All that can be read of a store, for comparing. */
async function everything({ read }: Store) {
  const all = 100_000;
  const chats = await read.chats();
  const perChat = await Promise.all(
    chats.map(async ({ jid }) => {
      const query = {
        chat_jid: jid,
        after_seq: 0,
        before_seq: null,
        limit: all,
        message_type: null,
        sender: null,
      };
      const calls = await read.calls({ chat_jid: jid, turn_id: null, after: null, limit: all });
      const head = await read.head(jid, "");
      return {
        key: await read.blockKey(jid),
        messages: await read.messages(query),
        inbounds: await read.inbounds({ chat_jid: jid, outcome: null, after_seq: 0, limit: all }),
        entries: await read.entries(jid, all),
        path: head === null ? [] : await read.path(jid, head, all),
        labels: await read.labels(jid),
        calls,
        parts: await read.callParts(calls.map(({ id }) => id)),
        requests: await Promise.all(calls.map(({ id }) => read.request(id))),
        turns: await Promise.all(
          [...new Set(calls.map(({ turn_id }) => turn_id ?? ""))].map((id) => read.turn(id)),
        ),
        work: await read.work("turn", `turn:${jid}`, all),
      };
    }),
  );
  return {
    chats,
    perChat,
    addresses: await read.addresses(),
    people: await read.people(),
    tokens: await read.tokens(),
    spent: await read.spent({ accounts: { under: "" }, from: "", to: "9" }),
    deliveries: await read.deliveries({
      chat_jid: null,
      message_id: null,
      state: null,
      after: null,
      limit: all,
    }),
    events: await read.events({ after: null, chat_jid: null, limit: all }),
    last: await read.lastEvent(),
  };
}
