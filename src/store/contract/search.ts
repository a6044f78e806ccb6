import assert from "node:assert/strict";
import type { Store } from "../store.js";
import { CHAT, type Check, ids, kept, LATER, message, OTHER, registered } from "./sample.js";

export const search: Check[] = [
  {
    name: "words are found in every script, wherever they stand",
    async check(store) {
      await kept(store, [
        registered(),
        message("en", { content: "The quick brown fox, isn't it?" }),
        message("ja", { content: "東京タワーは高いです。" }),
        message("zh", { content: "我们明天去北京吃饭" }),
        message("th", { content: "พรุ่งนี้ไปกินข้าวกัน" }),
        message("ko", { content: "안녕하세요 여러분" }),
        message("ar", { content: "والسلام عليكم" }),
        message("ru", { content: "Привет, как дела?" }),
        message("de", { content: "Straßenbahnhaltestelle über Fußgänger" }),
        message("hi", { content: "नमस्ते दुनिया" }),
        message("mark", { content: "done 🎉 see https://example.com/a?b=c#d" }),
      ]);
      const expected: [string, string[]][] = [
        ["quick", ["en"]],
        ["QUICK fox", ["en"]],
        ["fox the", ["en"]],
        ["quick cat", []],
        ["isn't", ["en"]],
        ["東京", ["ja"]],
        ["高", ["ja"]],
        ["タワー", ["ja"]],
        ["北京", ["zh"]],
        ["京", ["ja", "zh"]],
        ["明天去北京", ["zh"]],
        ["กินข้าว", ["th"]],
        ["안녕", ["ko"]],
        ["سلام", ["ar"]],
        ["привет", ["ru"]],
        ["haltestelle", ["de"]],
        ["uber", ["de"]],
        ["ÜBER", ["de"]],
        ["दुनिया", ["hi"]],
        ["🎉", ["mark"]],
        ["example.com/a?b=c", ["mark"]],
        ["ｑｕｉｃｋ", ["en"]],
        ["it", ["en"]],
        ["?", ["en", "ru", "mark"]],
      ];
      for (const [words, found] of expected) assert.deepEqual(await finds(store, words), found, words);
    },
  },
  {
    name: "no query is an error, whatever is typed",
    async check(store) {
      await kept(store, [
        registered(),
        message("m1", { content: "say \"hello\" AND* (NEAR) -x ^y {z}: col:term 'q'" }),
      ]);
      const typed = [
        '"',
        '""',
        '"hello',
        "*",
        "^",
        "AND",
        "OR NOT",
        "NEAR(",
        "(",
        ")",
        "-x",
        "col:",
        "{z}:",
        "'",
        "%",
        "_",
        "\\",
        "\u0000",
        "\u0001",
        "  ",
        "",
        "a".repeat(5000),
        "\ud800",
        "+",
        "hello*",
      ];
      for (const words of typed) await store.read.search(CHAT, words, 10);
      assert.deepEqual(await finds(store, '"hello"'), ["m1"]);
      assert.deepEqual(await finds(store, "{z}:"), ["m1"]);
      assert.deepEqual(await finds(store, "%"), []);
      assert.deepEqual(await finds(store, ""), []);
      assert.deepEqual(await finds(store, "   "), []);
    },
  },
  {
    name: "what is found is of the chat, the newest last, and no more than asked",
    async check(store) {
      await kept(store, [registered(), registered(OTHER)]);
      await kept(
        store,
        Array.from({ length: 30 }, (_, index) => message(`m${index}`, { content: `apple ${index}` })),
      );
      await kept(store, [message("x", { chat_jid: OTHER, content: "apple pie" })]);
      assert.deepEqual(ids(await store.read.search(CHAT, "apple", 3)), ["m27", "m28", "m29"]);
      assert.deepEqual(ids(await store.read.search(OTHER, "apple", 3)), ["x"]);
      assert.deepEqual(await store.read.search("nowhere", "apple", 3), []);
      assert.deepEqual(await store.read.search(CHAT, "apple", 0), []);
    },
  },
  {
    name: "edits and deletions change what is found",
    async check(store) {
      await kept(store, [
        registered(),
        message("m1", { content: "apple" }),
        message("m2", { content: "apple" }),
      ]);
      assert.deepEqual(await finds(store, "apple"), ["m1", "m2"]);
      await kept(store, [{ type: "revision", chat_jid: CHAT, message_id: "m1", content: "pear", at: LATER }]);
      assert.deepEqual(await finds(store, "apple"), ["m2"]);
      assert.deepEqual(await finds(store, "pear"), ["m1"]);
      await kept(store, [{ type: "revision", chat_jid: CHAT, message_id: "m1", content: null, at: LATER }]);
      assert.deepEqual(await finds(store, "pear"), []);
    },
  },
  {
    name: "a message can be found as soon as it is stored",
    async check(store) {
      await kept(store, [registered()]);
      for (let n = 0; n < 5; n++) {
        await kept(store, [message(`m${n}`, { content: `needle${n}` })]);
        assert.deepEqual(await finds(store, `needle${n}`), [`m${n}`]);
      }
    },
  },
];

async function finds(store: Store, words: string): Promise<string[]> {
  return ids(await store.read.search(CHAT, words, 100));
}
