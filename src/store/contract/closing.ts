import assert from "node:assert/strict";
import { StoreUnavailable } from "../store.js";
import { type Check, kept, message, registered } from "./sample.js";

export const closing: Check[] = [
  {
    name: "closing waits for what was handed in, and refuses what comes after",
    async check(store) {
      await kept(store, [registered()]);
      const last = store.commit({ facts: [message("m1")] });
      const closed = store.close();
      assert.equal((await last).status, "committed");
      await closed;
      await assert.rejects(store.commit({ facts: [message("m2")] }), StoreUnavailable);
      await assert.rejects(
        store.claim({ kind: "turn", holder: "a", now: 1, leaseMs: 1, limit: 1 }),
        StoreUnavailable,
      );
      await store.close();
    },
  },
];
