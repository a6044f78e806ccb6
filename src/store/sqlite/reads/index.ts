import { type StoreReads, StoreUnavailable } from "../../store.js";
import { type Prepare, unavailability } from "../driver.js";
import { callReads } from "./calls.js";
import { chatReads } from "./chats.js";
import { logReads } from "./log.js";
import { messageReads } from "./messages.js";
import { peopleReads } from "./people.js";
import { searchReads } from "./search.js";
import { treeReads } from "./tree.js";

/** Everything that can be asked, on a connection of its own. */
export function readsOn(prepare: Prepare): StoreReads {
  const guarded: Prepare = (sql) => {
    try {
      const statement = prepare(sql);
      return {
        run: statement.run.bind(statement),
        get: (...parameters) => guard(() => statement.get(...parameters)),
        all: (...parameters) => guard(() => statement.all(...parameters)),
      };
    } catch (error) {
      throw orUnavailable(error);
    }
  };
  return {
    ...chatReads(guarded),
    ...peopleReads(guarded),
    ...messageReads(guarded),
    ...searchReads(guarded),
    ...treeReads(guarded),
    ...callReads(guarded),
    ...logReads(guarded),
  };
}

function guard<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw orUnavailable(error);
  }
}

function orUnavailable(error: unknown): unknown {
  const why = unavailability(error);
  return why === null ? error : new StoreUnavailable(why, { cause: error });
}
