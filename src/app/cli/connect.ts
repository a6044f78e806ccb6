import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ApiProblem, type Client, createClient } from "../client/index.js";
import { readAddress } from "./address.js";
import { CommandFailed } from "./output.js";
import { plain } from "./plain.js";
import { type Env, readSettings, SettingError, type Settings } from "./settings.js";

export type Connection = { client: Client; baseUrl: string };

/** A client of the running server: here, or where LONGHAND_URL says. */
export function connect(env: Env): Connection {
  const settings = readSettings(env);
  const baseUrl = env.LONGHAND_URL?.replace(/\/+$/, "") || addressHere(env, settings);
  if (!/^https?:\/\//.test(baseUrl) || !URL.canParse(baseUrl)) {
    throw new SettingError(
      `LONGHAND_URL is "${baseUrl}": set it to an address such as http://127.0.0.1:7483.`,
    );
  }
  return { client: createClient({ baseUrl, token: knownToken(env, settings.data) }), baseUrl };
}

/** The port that was asked for; otherwise what the server of this folder says of itself. */
function addressHere(env: Env, { host, port, data }: Settings): string {
  const found = env.LONGHAND_PORT && port !== 0 ? null : readAddress(data);
  return found?.url ?? `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
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
export function explained(error: unknown, { baseUrl }: Connection, chat: string): unknown {
  if (error instanceof ApiProblem && error.detail === "There is no such chat.") {
    return new CommandFailed(4, `There is no such chat: ${plain(chat)}. All there are: longhand chats`);
  }
  if (error instanceof ApiProblem) return new CommandFailed(4, error.detail || error.title);
  if (error instanceof TypeError && error.message === "fetch failed") {
    return new CommandFailed(
      3,
      [
        `No server answers at ${baseUrl}. Start one: npm start`,
        "Or say where it is: LONGHAND_DATA is its folder, LONGHAND_PORT its port, LONGHAND_URL (with LONGHAND_TOKEN) its address.",
      ].join("\n"),
    );
  }
  return error;
}
