import { mkdirSync } from "node:fs";
import { openStore } from "./openStore.js";
import { type Env, ownerToken, readSettings } from "./settings.js";

/** Start the server, and say where it is. Resolves when it listens. */
export async function start(env: Env): Promise<void> {
  const settings = readSettings(env);
  // Whatever we write holds people's words: it is for the owner's eyes alone.
  process.umask(0o077);
  mkdirSync(settings.data, { recursive: true });
  const token = ownerToken(settings, env);
  // The database opens in its own thread, or far away, while this one reads the rest of the program.
  const [opened, { serve }] = await Promise.all([openStore(settings), import("./serve.js")]);
  await serve({ env, settings, token, ...opened });
}
