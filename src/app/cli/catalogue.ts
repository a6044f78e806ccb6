import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { systemClock } from "../../gateway/clock.js";
import { type Catalogue, catalogue } from "../../provider/catalogue.js";
import { type OwnFacts, readModelFile } from "../../provider/modelFile.js";
import { type Env, SettingError } from "./settings.js";

const FILE = "models.json";

/** The models this environment can use, with what the file in LONGHAND_MODELS, or `models.json` beside the data, says of them. */
export function catalogueFrom(env: Env, data: string | null): Catalogue {
  const beside = data === null ? null : join(data, FILE);
  const path = env.LONGHAND_MODELS?.trim() || (beside !== null && existsSync(beside) ? beside : null);
  const own = path === null ? {} : { own: ownFacts(path) };
  return catalogue({ env, now: () => systemClock.now(), ...own });
}

function ownFacts(path: string): OwnFacts {
  const read = readModelFile(readJson(path));
  if (read.ok) return read.own;
  const wrong = read.errors.map((error) => `${error.path}: ${error.reason}`).join("; ");
  throw new SettingError(`${path} says of models what cannot be right: ${wrong}.`);
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(resolve(path), "utf8"));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new SettingError(`LONGHAND_MODELS is "${path}", which cannot be read as JSON: ${why}`);
  }
}
