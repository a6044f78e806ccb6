import { type Client, createClient } from "../client/index.js";
import { type Env, ownerToken, readSettings } from "./settings.js";

export type Connection = { client: Client; baseUrl: string };

/** A client of the running server: here, or where LONGHAND_URL says. */
export function connect(env: Env): Connection {
  const settings = readSettings(env);
  const host = settings.host.includes(":") ? `[${settings.host}]` : settings.host;
  const baseUrl = env.LONGHAND_URL || `http://${host}:${settings.port}`;
  return { client: createClient({ baseUrl, token: ownerToken(settings, env) }), baseUrl };
}
