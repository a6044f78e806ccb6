import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ApiProblem, type Client, createClient } from "../client/index.js";
import { CommandFailed } from "./output.js";
import { type Env, readSettings, SettingError } from "./settings.js";

export type Connection = { client: Client; baseUrl: string };

/** A client of the running server: here, or where LONGHAND_URL says. */
export function connect(env: Env): Connection {
  const settings = readSettings(env);
  const host = settings.host.includes(":") ? `[${settings.host}]` : settings.host;
  const baseUrl = env.LONGHAND_URL || `http://${host}:${settings.port}`;
  if (!/^https?:\/\//.test(baseUrl) || !URL.canParse(baseUrl)) {
    throw new SettingError(
      `LONGHAND_URL is "${baseUrl}": set it to an address such as http://127.0.0.1:7483.`,
    );
  }
  return { client: createClient({ baseUrl, token: knownToken(env, settings.data) }), baseUrl };
}

/** Only a server makes tokens; and the token of this folder is for the server of this folder. */
function knownToken(env: Env, data: string): string {
  if (env.LONGHAND_TOKEN) return env.LONGHAND_TOKEN;
  if (env.LONGHAND_URL)
    throw new SettingError("LONGHAND_URL names another server: set LONGHAND_TOKEN to a token of it.");
  const file = join(data, "token");
  if (existsSync(file)) return readFileSync(file, "utf8").trim();
  throw new CommandFailed(
    3,
    `There is no token in ${data}. Start a server here (npm start), or say with LONGHAND_DATA where its data is.`,
  );
}

/** What went wrong, in words and with an exit code. */
export function explained(error: unknown, { baseUrl }: Connection): unknown {
  if (error instanceof ApiProblem) return new CommandFailed(4, error.detail || error.title);
  if (error instanceof TypeError && error.message === "fetch failed") {
    return new CommandFailed(3, `No server answers at ${baseUrl}. Start one: npm start`);
  }
  return error;
}
