import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { placeOf, WrongUrl } from "../../store/postgres/connect.js";
import { CannotMove, moveToPostgres, PerhapsMoved } from "../../store/postgresMove.js";
import { holdAlone } from "./alone.js";
import { CommandFailed, type Output } from "./output.js";
import { placeWithoutSecrets } from "./openStore.js";

/** Move everything from a data folder to a Postgres database. */
export async function migrate(from: string, to: string | undefined, out: Output): Promise<void> {
  if (!to) {
    throw new CommandFailed(
      2,
      "Where to? Set DATABASE_URL, or give --to postgres://user:password@host/database.",
    );
  }
  const path = join(resolve(from), "longhand.db");
  if (!existsSync(path)) {
    throw new CommandFailed(
      2,
      `There is no longhand.db in ${resolve(from)}. Say with --from where the data is.`,
    );
  }
  holdAlone(resolve(from));
  const show = progressLine();
  try {
    const moved = await moveToPostgres(path, placeOf(to), show);
    const rows = Object.values(moved).reduce((sum, count) => sum + count, 0);
    const where = placeWithoutSecrets(to);
    out.result(
      { from: path, to: where, moved },
      `Moved ${moved.chats} chats with ${moved.messages} messages (${rows} rows) to ${where}.\nStart it: DATABASE_URL=… longhand start (the folder is as it was; its file "token" is still the owner's)`,
    );
  } catch (error) {
    if (error instanceof WrongUrl) throw new CommandFailed(2, error.message);
    if (error instanceof PerhapsMoved) {
      throw new CommandFailed(
        3,
        `The connection was lost at the very end (${error.message}). Do it again: if everything was moved already, it says that the database is not empty, and changes nothing.`,
      );
    }
    if (error instanceof CannotMove) throw new CommandFailed(4, `Nothing was moved: ${error.message}.`);
    if (error instanceof Error && (error.name === "StoreUnavailable" || error.name === "WrongDatabase")) {
      throw new CommandFailed(3, `Nothing was moved: ${error.message}.`);
    }
    throw error;
  }
}

/** How far it is, on standard error: one line that changes, or one line for each table where lines stay. */
function progressLine(): (table: string, done: number, total: number) => void {
  const screen = process.stderr.isTTY === true;
  return (table, done, total) => {
    const line = `${table} ${done} of ${total}`;
    if (screen) process.stderr.write(`\r\u001b[K${line}${done === total ? "\n" : ""}`);
    else if (done === total) process.stderr.write(`${line}\n`);
  };
}
