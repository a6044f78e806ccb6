import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

export type Env = Readonly<Record<string, string | undefined>>;

/** What a newcomer never has to set. */
export type Settings = {
  host: string;
  port: number;
  data: string;
  /** `DATABASE_URL`; null: SQLite in the data folder. */
  database: string | null;
  assistantName: string;
  aliases: string[];
  /** What the whole server may spend on a day (UTC). */
  budget: { usd: number | null; tokens: number | null };
  /** How long the requests of calls are kept, and how much of them. */
  receipts: { days: number | null; bytes: number | null };
};

/** A setting that cannot be right, with what would be. */
export class SettingError extends Error {
  override name = "SettingError";
}

/** Settings from the environment, and from a `.env` file beside us when there is one. */
export function readSettings(env: Env): Settings {
  const port = env.LONGHAND_PORT || "7483";
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) {
    throw new SettingError(`LONGHAND_PORT is "${port}": set it to a number from 0 to 65535, such as 7483.`);
  }
  return {
    host: env.LONGHAND_HOST || "127.0.0.1",
    port: Number(port),
    data: resolve(env.LONGHAND_DATA || "data"),
    database: env.DATABASE_URL || null,
    assistantName: env.ASSISTANT_NAME?.trim() || "Longhand",
    aliases: (env.TRIGGER_ALIASES ?? "")
      .split(",")
      .map((alias) => alias.trim())
      .filter((alias) => alias !== ""),
    budget: {
      usd: amount(env, "LONGHAND_BUDGET_USD"),
      tokens: amount(env, "LONGHAND_BUDGET_TOKENS"),
    },
    receipts: { days: daysOf(env, "LONGHAND_RECEIPT_DAYS"), bytes: bytesOf(env, "LONGHAND_RECEIPT_BYTES") },
  };
}

function amount(env: Env, name: string): number | null {
  const given = env[name]?.trim();
  if (!given) return null;
  if (/^\d+(\.\d+)?$/.test(given)) return Number(given);
  throw new SettingError(`${name} is "${given}": set it to a number, the most that is spent on a day.`);
}

function daysOf(env: Env, name: string): number | null {
  const given = env[name]?.trim();
  if (!given) return null;
  if (/^\d+(\.\d+)?$/.test(given) && Number(given) > 0) return Number(given);
  throw new SettingError(`${name} is "${given}": set it to a number of days, such as 90, or leave it out.`);
}

const UNITS: Readonly<Record<string, number>> = { "": 1, kb: 1e3, mb: 1e6, gb: 1e9, tb: 1e12 };

function bytesOf(env: Env, name: string): number | null {
  const given = env[name]?.trim();
  if (!given) return null;
  const [, count = "", unit = ""] = /^(\d+(?:\.\d+)?)\s*(|kb|mb|gb|tb)$/i.exec(given) ?? [];
  const bytes = Number(count) * (UNITS[unit.toLowerCase()] ?? 0);
  if (bytes > 0) return Math.round(bytes);
  throw new SettingError(`${name} is "${given}": set it to a size such as 500MB or 20GB, or leave it out.`);
}

/** Read `.env` into the environment; what is set already stays. */
export function loadEnvFile(): void {
  if (existsSync(".env")) process.loadEnvFile(".env");
}

/** What the JSON file says that a setting names. */
export function readJsonFile(setting: string, path: string): unknown {
  try {
    return JSON.parse(readFileSync(resolve(path), "utf8"));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new SettingError(`${setting} is "${path}", which cannot be read as JSON: ${why}`);
  }
}

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

/** The owner's token: from the environment, or from the file of the first start (made now if this is it). */
export function ownerToken(settings: Settings, env: Env): string {
  if (env.LONGHAND_TOKEN) return checkedToken(env.LONGHAND_TOKEN);
  if (!isLoopback(settings.host)) {
    throw new SettingError(
      `LONGHAND_HOST is ${settings.host}, which others can reach: set LONGHAND_TOKEN to a long secret first.`,
    );
  }
  const file = join(settings.data, "token");
  if (existsSync(file)) return checkedToken(readFileSync(file, "utf8").trim());
  const token = `lh_${randomBytes(32).toString("base64url")}`;
  writeFileSync(file, `${token}\n`, { mode: 0o600, flag: "wx" });
  return token;
}

function checkedToken(token: string): string {
  if (/^[!-~]{16,}$/.test(token)) return token;
  throw new SettingError("The token must be at least 16 printable characters without spaces.");
}
