import { createServer, type Socket } from "node:net";
import { setTimeout } from "node:timers/promises";
import pg from "pg";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { startPostgres } from "../testing/postgresServer.js";
import { CHAT, inbound, kept, message, registered, said, work } from "./contract/sample.js";
import { placeOf } from "./postgres/connect.js";
import { migrate } from "./postgres/migrate.js";
import { openPostgres, type PostgresOptions, WrongDatabase, WrongUrl } from "./postgres.js";
import { type Store, StoreUnavailable } from "./store.js";

const server = await startPostgres();
afterAll(() => server?.stop());

const LONG = process.env.LONGHAND_LONG === "1";
const open: Store[] = [];
afterEach(async () => {
  for (const store of open.splice(0)) await store.close();
});

async function opened(url: string, more: Partial<PostgresOptions> = {}): Promise<Store> {
  const store = await openPostgres({ url, connections: 2, ...more });
  open.push(store);
  return store;
}

describe.skipIf(!server)("trouble with Postgres", () => {
  const database = async () => (await server?.database()) ?? "";

  test("a server that crashes and comes back loses and doubles nothing; nobody has to start anew", async () => {
    const store = await opened(await database());
    await kept(store, [registered()]);
    const acknowledged: string[] = [];
    let unavailable = 0;
    let writing = true;
    /** As a platform does: again, with the same key, until it is told that the message is there. */
    const speak = async (name: string) => {
      for (let n = 0; writing; n++) {
        for (;;) {
          const facts = [
            message(`${name}-${n}`, { dedupe_key: `${name}-${n}` }),
            inbound(`${name}-${n}`),
            work(`${name}-${n}`),
          ];
          const result = await store.commit({ facts }).catch((error: unknown) => {
            expect(error).toBeInstanceOf(StoreUnavailable);
            return null;
          });
          if (result) {
            expect(["committed", "duplicate"]).toContain(result.status);
            break;
          }
          unavailable++;
          await setTimeout(20);
        }
        acknowledged.push(`${name}-${n}`);
      }
    };
    const speaking = Promise.all(["a", "b", "c"].map(speak));
    for (let crash = 0; crash < (LONG ? 20 : 3); crash++) {
      await setTimeout(150);
      await server?.restart(crash % 3 === 2 ? "fast" : "immediate");
      const count = acknowledged.length;
      while (acknowledged.length < count + 5) await setTimeout(5);
    }
    writing = false;
    await speaking;
    expect(unavailable).toBeGreaterThan(0);
    const stored = await said(store);
    expect(stored.map(({ id }) => id).sort()).toEqual([...acknowledged].sort());
    expect(stored.map(({ seq }) => seq)).toEqual(stored.map((_, index) => index + 1));
    const pieces = await store.read.work("turn", `turn:${CHAT}`, 100_000);
    expect(pieces.map(({ id }) => id).sort()).toEqual([...acknowledged].sort());
    const events = await store.read.events({ after: null, chat_jid: null, limit: 100_000 });
    expect(events).toHaveLength(acknowledged.length + 1);
  });

  test("after a restart news arrives again", async () => {
    const url = await database();
    const [mine, theirs] = [await opened(url), await opened(url)];
    await kept(mine, [registered()]);
    await server?.restart("fast");
    let heard = 0;
    theirs.subscribe(({ work: kinds, events }) => {
      if (kinds.length === 1 && events) heard++;
    });
    for (let n = 0; heard === 0; n++) {
      await mine.commit({ facts: [message(`m${n}`), work(`w${n}`)] }).catch(() => {});
      await setTimeout(50);
    }
  });

  test("a settlement whose answer was lost cannot be settled again", async () => {
    const url = await database();
    const store = await opened(url);
    await kept(store, [registered(), work("w1")]);
    const proxy = await deafProxy(url);
    const behind = await opened(proxy.url);
    const [claim] = await behind.claim({ kind: "turn", holder: "h", now: 0, leaseMs: 60_000, limit: 1 });
    if (!claim) throw new Error("no claim");
    const { lane, fence } = claim;
    const settle = () =>
      behind.settle({
        lease: { lane, fence },
        done: ["w1"],
        later: [],
        release: true,
        facts: [message("answer", { untaken: false })],
      });
    proxy.loseAnswers();
    await expect(settle()).rejects.toBeInstanceOf(StoreUnavailable);
    proxy.hearAgain();
    expect(await settle()).toEqual({ status: "fenced", lane });
    expect((await said(store)).map(({ id }) => id)).toEqual(["answer"]);
    await behind.close();
    proxy.close();
  });

  test("what cannot be reached is said to be unavailable, without the password", async () => {
    const url = (await database()).replace(/:\d+\//, ":9/").replace(":password@", ":open-sesame@");
    const error = await openPostgres({ url }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(StoreUnavailable);
    const wrong = (await database()).replace(":password@", ":open-sesame@");
    const denied = await openPostgres({ url: wrong }).catch((reason: unknown) => reason);
    expect(String(denied)).toMatch(/password authentication failed/);
    for (const odd of ["postgres//u:open-sesame@h/d", "mysql://u:open-sesame@h/d", `${wrong}?schema=A%20b`]) {
      const refused = await openPostgres({ url: odd }).catch((reason: unknown) => reason);
      expect(refused).toBeInstanceOf(WrongUrl);
      expect(String(refused)).not.toContain("open-sesame");
    }
    expect(String(error) + String(denied)).not.toContain("open-sesame");
  });

  test("too many connections are a matter of waiting, not of losing", async () => {
    const url = await database();
    const store = await opened(url);
    await kept(store, [registered()]);
    const owner = new pg.Client({ connectionString: url });
    await owner.connect();
    await owner.query("CREATE ROLE guest LOGIN PASSWORD 'guest' CONNECTION LIMIT 0");
    const guest = url.replace("postgres:password@", "guest:guest@");
    await expect(openPostgres({ url: guest })).rejects.toBeInstanceOf(StoreUnavailable);
    await owner.query("DROP ROLE guest");
    await owner.end();
  });

  test("somebody else who holds a lock for ever does not hold us for ever", async () => {
    const url = await database();
    const store = await opened(url, { lockMs: 200 });
    await kept(store, [registered()]);
    const other = new pg.Client({ connectionString: url });
    await other.connect();
    await other.query("BEGIN; LOCK TABLE messages IN ACCESS EXCLUSIVE MODE");
    await expect(store.commit({ facts: [message("m1")] })).rejects.toBeInstanceOf(StoreUnavailable);
    await expect(store.read.message(CHAT, "m1")).rejects.toBeInstanceOf(StoreUnavailable);
    await other.query("ROLLBACK");
    await other.end();
    await kept(store, [message("m1")]);
  });

  test("many processes that start together make one database", async () => {
    const url = await database();
    const stores = await Promise.all(Array.from({ length: 6 }, () => opened(url)));
    await kept(stores[3] as Store, [registered()]);
    expect(await stores[5]?.read.chat(CHAT)).not.toBeNull();
  });

  test("a process killed while it made the database leaves nothing half made", async () => {
    const url = await database();
    const steps = ["CREATE TABLE half (a int); SELECT pg_sleep(30)"];
    const making = migrate(placeOf(url), steps).catch((error: unknown) => error);
    const owner = new pg.Client({ connectionString: url });
    await owner.connect();
    const busy =
      "SELECT pid FROM pg_stat_activity WHERE query LIKE '%pg_sleep(30)%' AND pid <> pg_backend_pid()";
    for (;;) {
      const { rows } = await owner.query(busy);
      if (rows[0]) {
        await owner.query("SELECT pg_terminate_backend($1)", [rows[0].pid]);
        break;
      }
      await setTimeout(10);
    }
    expect(await making).toBeInstanceOf(StoreUnavailable);
    expect((await owner.query("SELECT to_regclass('half') AS half")).rows[0].half).toBeNull();
    await owner.end();
    await kept(await opened(url), [registered()]);
  });

  test("somebody else's tables, and those of a newer Longhand, are left alone", async () => {
    const url = await database();
    const owner = new pg.Client({ connectionString: url });
    await owner.connect();
    await owner.query("CREATE TABLE messages (mine text)");
    await expect(openPostgres({ url })).rejects.toBeInstanceOf(WrongDatabase);
    const store = await opened(`${url}?schema=longhand`);
    await kept(store, [registered(), message("m1")]);
    expect((await owner.query("SELECT * FROM messages")).rows).toEqual([]);
    await owner.query("UPDATE longhand.longhand_version SET version = 99");
    await expect(openPostgres({ url: `${url}?schema=longhand` })).rejects.toThrow(/version 99/);
    await owner.end();
  });
});

/** Something between us and the server that can keep the server's answers to itself, and then hangs up. */
async function deafProxy(url: string) {
  const target = new URL(url);
  const port = Number(target.port);
  let deaf = false;
  const sockets = new Set<Socket>();
  const { connect } = await import("node:net");
  const listener = createServer((near) => {
    const far = connect(port, target.hostname);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        near.destroy();
        far.destroy();
      });
    }
    near.pipe(far);
    far.on("data", (bytes) => {
      if (deaf) near.destroy();
      else near.write(bytes);
    });
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  const address = listener.address();
  target.port = String(address !== null && typeof address === "object" ? address.port : 0);
  return {
    url: target.href,
    loseAnswers: () => {
      deaf = true;
    },
    hearAgain: () => {
      deaf = false;
    },
    close: () => {
      listener.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
