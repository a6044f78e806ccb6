import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { openSqlite } from "../../store/sqlite.js";
import { holdAlone } from "./alone.js";
import { type Env, ownerToken, readSettings } from "./settings.js";

/** Start the server, and say where it is. Resolves when it listens. */
export async function start(env: Env): Promise<void> {
  const settings = readSettings(env);
  // Whatever we write holds people's words: it is for the owner's eyes alone.
  process.umask(0o077);
  mkdirSync(settings.data, { recursive: true });
  holdAlone(settings.data);
  const token = ownerToken(settings, env);
  // The database opens in its own thread while this one reads the rest of the program.
  const opening = openSqlite({ path: join(settings.data, "longhand.db") });
  const [store, { serve }] = await Promise.all([opening, import("./serve.js")]);
  await serve({ env, settings, token, store });
}
