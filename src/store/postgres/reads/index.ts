import type { StoreReads } from "../../store.js";
import type { Query } from "../connect.js";
import { callReads } from "./calls.js";
import { chatReads } from "./chats.js";
import { logReads } from "./log.js";
import { messageReads } from "./messages.js";
import { searchReads } from "./search.js";
import { treeReads } from "./tree.js";

/** Everything that can be asked. `clock` is the asker's, where times are stated by the database's. */
export function readsOn(query: Query, clock: (() => number) | null): StoreReads {
  return {
    ...chatReads(query),
    ...messageReads(query, clock),
    ...searchReads(query),
    ...treeReads(query),
    ...callReads(query),
    ...logReads(query, clock),
  };
}
