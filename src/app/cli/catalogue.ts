import { existsSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../gateway/clock.js";
import { type Catalogue, catalogue } from "../../provider/catalogue.js";
import { type OwnFacts, readModelFile } from "../../provider/modelFile.js";
import { type Env, readJsonFile, SettingError } from "./settings.js";

const FILE = "models.json";

/** The models this environment can use, with what the file in LONGHAND_MODELS, or `models.json` beside the data, says of them. */
export function catalogueFrom(env: Env, data: string | null): Catalogue {
  const beside = data === null ? null : join(data, FILE);
  const path = env.LONGHAND_MODELS?.trim() || (beside !== null && existsSync(beside) ? beside : null);
  const own = path === null ? {} : { own: ownFacts(path) };
  return catalogue({ env, now: () => systemClock.now(), ...own });
}

function ownFacts(path: string): OwnFacts {
  const read = readModelFile(readJsonFile("LONGHAND_MODELS", path));
  if (read.ok) return read.own;
  const wrong = read.errors.map((error) => `${error.path}: ${error.reason}`).join("; ");
  throw new SettingError(`${path} says of models what cannot be right: ${wrong}.`);
}
