import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../gateway/clock.js";
import { type Store, StoreUnavailable } from "../../store/store.js";
import { holdAlone } from "./alone.js";
import { CommandFailed } from "./output.js";
import { SettingError, type Settings } from "./settings.js";

/** A store, by what name we hold its leases, and where it is in words that may be shown. */
export type Opened = { store: Store; holder: string; where: string };

/** Open what `DATABASE_URL` names, or else the SQLite file in the data folder, which is one server's alone. */
export async function openStore({ data, database }: Settings): Promise<Opened> {
  if (database === null) {
    holdAlone(data);
    const { openSqlite } = await import("../../store/sqlite.js");
    // The same name each time: what this server held before a crash it may take up at once.
    return { store: await openSqlite({ path: join(data, "longhand.db") }), holder: "local", where: data };
  }
  const { openPostgres, WrongDatabase, WrongUrl } = await import("../../store/postgres.js");
  try {
    const store = await openPostgres({ url: database, clock: systemClock.steady });
    return {
      store,
      holder: `${hostname()} ${process.pid} ${randomUUID()}`,
      where: placeWithoutSecrets(database),
    };
  } catch (error) {
    if (error instanceof WrongUrl) throw new SettingError(`DATABASE_URL: ${error.message}.`);
    if (error instanceof StoreUnavailable || error instanceof WrongDatabase) {
      throw new CommandFailed(3, `${error.message}. Is DATABASE_URL right, and does the database run?`);
    }
    throw error;
  }
}

/** A database URL without user, password and options. */
export function placeWithoutSecrets(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}
