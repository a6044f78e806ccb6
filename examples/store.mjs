// Is your store one Longhand can trust? Here a store that counts its commits runs through the suite every store passes.
import test from "node:test";
import { storeContract } from "longhand/store/contract";
import { openMemory } from "longhand/store/memory";

let commits = 0;

/** @returns {Promise<import("longhand/store").Store>} */
async function openCounting() {
  const inner = openMemory();
  return {
    ...inner,
    commit(batch) {
      commits += 1;
      return inner.commit(batch);
    },
  };
}

// The cases belong to no test framework: each is a name and a promise that rejects with what was expected.
for (const { name, run } of storeContract(openCounting)) test(name, run);
process.on("exit", () => console.log(`${commits} commits`));
