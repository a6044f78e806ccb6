import { join } from "node:path";
import { openDatabase } from "../../store/sqlite/driver.js";
import { readAddress } from "./address.js";
import { SettingError } from "./settings.js";

/**
 * Makes sure that one server at a time works on a data folder, for as long as this process lives. The lock is SQLite's
 * own: the system lets go of it when the process ends, however it ends.
 */
export function holdAlone(data: string): void {
  const lock = openDatabase(join(data, "longhand.lock"), { readOnly: false, busyMs: 0 });
  try {
    lock.exec("BEGIN EXCLUSIVE");
  } catch {
    lock.close();
    const running = readAddress(data);
    const where = running ? ` at ${running.url} (process ${running.pid})` : "";
    throw new SettingError(
      `Another server is running on ${data}${where}: stop it, or choose another folder with LONGHAND_DATA.`,
    );
  }
  held.push(lock);
}

/** Kept, or the lock would go with the garbage. */
const held: unknown[] = [];
