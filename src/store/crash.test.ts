import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { kept, message, registered } from "./contract/sample.js";
import { openSqlite } from "./sqlite.js";
import type { Store } from "./store.js";

/** What a process was promised survives its sudden end. What survives a power cut: see durable.test.ts. */

const KILLS = process.env.LONGHAND_LONG ? 100 : 12;
const WRITER = fileURLToPath(new URL("./fixtures/writer.mjs", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "longhand-crash-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Let a process write, kill it after so many promises, and give back all it was promised. */
async function killedAfter(promises: number, args: string[]): Promise<string[]> {
  const child = spawn(process.execPath, [WRITER, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  const promised: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    promised.push(line);
    if (promised.length === promises) child.kill("SIGKILL");
  }
  await ended(child);
  return promised;
}

function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => child.once("exit", () => resolve()));
}

async function newDatabase(name: string): Promise<string> {
  const path = join(folder, name);
  const store = await openSqlite({ path });
  await kept(store, [registered()]);
  await store.close();
  return path;
}

function allMessages(store: Store) {
  return store.read.messages({
    chat_jid: "home",
    after_seq: 0,
    before_seq: null,
    limit: 1_000_000,
    message_type: null,
    sender: null,
  });
}

describe("a process that is killed while it writes", () => {
  test(`loses and doubles nothing it was promised, ${KILLS} times in a row`, {
    timeout: KILLS * 20_000,
  }, async () => {
    const path = await newDatabase("killed.db");
    const promised: string[] = [];
    for (let kill = 0; kill < KILLS; kill++) {
      promised.push(...(await killedAfter(100 + ((kill * 137) % 400), [path, `k${kill}`])));
    }
    const store = await openSqlite({ path });
    const rows = await allMessages(store);
    const ids = new Set(rows.map(({ id }) => id));
    expect(promised.filter((id) => !ids.has(id))).toEqual([]);
    expect(ids.size).toBe(rows.length);
    expect(rows.map(({ seq }) => seq)).toEqual(rows.map((_, index) => index + 1));
    // A message has its admission and its work, or is not there at all.
    const admitted = await store.read.inbounds({
      chat_jid: "home",
      outcome: "pending",
      after_seq: 0,
      limit: 1_000_000,
    });
    const waiting = await store.read.work("turn", "turn:home", 1_000_000);
    expect(admitted.length).toBe(rows.length);
    expect(waiting.map(({ ref }) => ref)).toEqual(rows.map(({ id }) => id));
    const again = await store.commit({ facts: [message("copy", { dedupe_key: `key of ${promised[0]}` })] });
    expect(again.status).toBe("duplicate");
    await store.close();
    console.log(
      `killed ${KILLS} times, ${promised.length} promised, ${rows.length} stored, 0 lost, 0 doubled`,
    );
  });

  test("would be caught if it promised too early", { timeout: 60_000 }, async () => {
    const path = await newDatabase("early.db");
    const promised: string[] = [];
    for (let kill = 0; kill < 3; kill++)
      promised.push(...(await killedAfter(200, [path, `k${kill}`, "early"])));
    const store = await openSqlite({ path });
    const ids = new Set((await allMessages(store)).map(({ id }) => id));
    await store.close();
    expect(promised.filter((id) => !ids.has(id)).length).toBeGreaterThan(0);
  });
});
