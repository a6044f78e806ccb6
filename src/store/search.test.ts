import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { CHAT, LATER, message, registered } from "./contract/sample.js";
import { holds, termsOf } from "./search.js";
import { connectWriter } from "./sqlite/connect.js";
import type { Database } from "./sqlite/driver.js";
import { indexing } from "./sqlite/indexer.js";
import { pack } from "./sqlite/pack.js";
import { readsOn } from "./sqlite/reads/index.js";
import { runGroup } from "./sqlite/writer.js";
import type { Fact } from "./store.js";

/** The index must find exactly what reading every message would find. */

const folder = mkdtempSync(join(tmpdir(), "longhand-search-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;
function newDatabase(contents: readonly string[]): Database {
  const db = connectWriter({ path: join(folder, `${files++}.db`), busyMs: 100, maxBytes: null });
  write(db, [registered(), ...contents.map((content, index) => message(`m${index}`, { content }))]);
  return db;
}

function write(db: Database, facts: Fact[]): void {
  const [result] = runGroup(db, [["commit", pack(facts).facts, []]]);
  expect(typeof result === "number" ? "committed" : result?.[0]).toBe("committed");
}

function indexAll(db: Database): void {
  for (const _ of indexing(db)) {
    // Nobody else wants to write.
  }
}

async function found(db: Database, words: string, limit = 1_000): Promise<string[]> {
  return (await readsOn(db.prepare).search(CHAT, words, limit)).map(({ id }) => id);
}

function expected(contents: readonly string[], words: string): string[] {
  const terms = termsOf(words);
  if (terms.length === 0) return [];
  return contents.flatMap((content, index) => (holds(content, terms) ? [`m${index}`] : []));
}

const CHARACTERS = [
  ..."abcABC éÉßİıſ 日本語カナｶﾅ ไทย้ अनि́ 한국 والس🎉👩‍👩‍👧 .\"'*():^-+%_\\\n\t\u00a0\u0301\u200b",
];
const words = (max: number) =>
  fc.array(fc.constantFrom(...CHARACTERS), { maxLength: max }).map((list) => list.join(""));

describe("what is found through the index", () => {
  test("is what reading everything would find, for any text and any query", {
    timeout: 120_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(words(12), { minLength: 64, maxLength: 200 }),
        fc.array(words(5), { minLength: 1, maxLength: 20 }),
        async (contents, queries) => {
          const db = newDatabase(contents);
          indexAll(db);
          for (const query of queries)
            expect(await found(db, query), query).toEqual(expected(contents, query));
          db.close();
        },
      ),
      { numRuns: process.env.LONGHAND_LONG ? 500 : 25 },
    );
  });

  test("is the newest of it, when there is more than asked for", async () => {
    const db = newDatabase(Array.from({ length: 4_000 }, (_, index) => (index % 3 === 0 ? "apple" : "pear")));
    indexAll(db);
    expect(await found(db, "apple", 3)).toEqual(["m3993", "m3996", "m3999"]);
    expect((await found(db, "apple", 10_000)).length).toBe(1_334);
    db.close();
  });

  test("follows edits and deletions of messages that were indexed long ago", async () => {
    const contents = Array.from({ length: 300 }, (_, index) => `text ${index}`);
    const db = newDatabase(contents);
    indexAll(db);
    const revise = (id: string, content: string | null): Fact => ({
      type: "revision",
      chat_jid: CHAT,
      message_id: id,
      content,
      at: LATER,
    });
    write(db, [revise("m5", "a rare needle"), revise("m70", "another needle"), revise("m100", null)]);
    for (const indexed of [false, true]) {
      if (indexed) indexAll(db);
      expect(await found(db, "needle")).toEqual(["m5", "m70"]);
      expect(await found(db, "rare")).toEqual(["m5"]);
      expect(await found(db, "text 100")).toEqual([]);
      expect(await found(db, "text 99")).toEqual(expected(contents, "text 99"));
    }
    expect(db.prepare("SELECT count(*) AS left FROM search_stale").get()?.left).toBe(0);
    db.close();
  });

  test("includes words that came while their bucket was being indexed", async () => {
    const db = newDatabase(Array.from({ length: 64 }, (_, index) => `text ${index}`));
    const doing = indexing(db);
    doing.next();
    write(db, [{ type: "revision", chat_jid: CHAT, message_id: "m3", content: "needle", at: LATER }]);
    while (!doing.next().done) {
      // Until it is done.
    }
    expect(db.prepare("SELECT indexed_seq FROM chats").get()?.indexed_seq).toBe(64);
    expect(await found(db, "needle")).toEqual(["m3"]);
    db.close();
  });

  test("includes words at every place of a very long message", async () => {
    // Four rare characters each, so that no other word has the same stretches.
    const rare = (n: number) => String.fromCodePoint(0x4e00 + (n % 20_000));
    const wordOf = (n: number) => rare(n) + rare(n * 7) + rare(n * 13) + rare(n * 29);
    const long = Array.from({ length: 20_000 }, (_, index) => wordOf(index)).join(" ");
    const db = newDatabase([long, ...Array.from({ length: 63 }, () => "short")]);
    let pauses = 0;
    for (const _ of indexing(db)) pauses += 1;
    expect(pauses).toBeGreaterThan(3);
    // Also where one piece of it ends and the next begins.
    for (let place = 1_024; place < long.length; place += 1_024) {
      const from = long.lastIndexOf(" ", place) + 1;
      const word = long.slice(from, long.indexOf(" ", from));
      expect(await found(db, word), word).toEqual(["m0"]);
    }
    db.close();
  });

  test("is in the index and not in the text of it", async () => {
    const db = newDatabase(Array.from({ length: 64 }, () => "a secret sentence"));
    indexAll(db);
    expect(db.prepare("SELECT grams FROM search LIMIT 1").get()).toMatchObject({ grams: null });
    db.close();
  });
});
