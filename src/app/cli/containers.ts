import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { z } from "zod";
import { type Container, ISOLATIONS } from "../../agent/index.js";
import type { Log } from "../../gateway/index.js";
import { errorsOf } from "../../message/index.js";
import { type Env, SettingError } from "./settings.js";

const Described = z.strictObject({
  command: z.tuple([z.string().min(1)], z.string()),
  isolation: z.enum(ISOLATIONS).default("bubblewrap"),
  /** Paths are read from where the file is. */
  folder: z.string().min(1).optional(),
  writable: z.boolean().default(false),
  reads: z.array(z.string().min(1)).default([]),
  network: z.boolean().default(false),
  /** Names of variables it gets, with the values they have here. */
  env: z.array(z.string().min(1)).default([]),
  image: z.string().min(1).optional(),
  model: z.string().min(1).optional(),
});
const File = z.strictObject({
  containers: z.record(z.string().regex(/^[a-z0-9][a-z0-9_-]*$/), Described),
});

/** The containers that the file in LONGHAND_CONTAINERS describes. */
export function readContainers(env: Env, log: Log): Container[] {
  const path = env.LONGHAND_CONTAINERS?.trim();
  if (!path) return [];
  const file = resolve(path);
  const parsed = File.safeParse(readJson(file, path));
  if (!parsed.success) {
    const [first] = errorsOf(parsed.error);
    throw new SettingError(`LONGHAND_CONTAINERS is "${path}": ${first?.path}: ${first?.reason}.`);
  }
  const here = dirname(file);
  return Object.entries(parsed.data.containers).map(
    ([name, { env: names, folder, reads, image, model, ...rest }]) => ({
      ...rest,
      name,
      ...(folder === undefined ? {} : { folder: resolve(here, folder) }),
      ...(image === undefined ? {} : { image }),
      ...(model === undefined ? {} : { model }),
      reads: reads.map((read) => resolve(here, read)),
      env: named(env, names),
      log: (line: string) => log("info", "container.said", { container: name, line }),
    }),
  );
}

function readJson(file: string, path: string): unknown {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new SettingError(`LONGHAND_CONTAINERS is "${path}", which cannot be read as JSON: ${why}`);
  }
}

/** Of our environment, what was named and is set. */
function named(env: Env, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])));
}
