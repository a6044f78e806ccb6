import { type Container, readContainers } from "../../agent/index.js";
import type { Log } from "../../gateway/index.js";
import { type Env, readJsonFile, SettingError } from "./settings.js";

/** The containers that the file in LONGHAND_CONTAINERS describes. */
export function containersFrom(env: Env, log: Log): Container[] {
  const path = env.LONGHAND_CONTAINERS?.trim();
  if (!path) return [];
  const read = readContainers(readJsonFile("LONGHAND_CONTAINERS", path), env);
  if (!read.ok) {
    const wrong = read.errors.map((error) => `${error.path}: ${error.reason}`).join("; ");
    throw new SettingError(`LONGHAND_CONTAINERS is "${path}": ${wrong}.`);
  }
  return read.containers.map((container) => ({
    ...container,
    log: (line) => log("info", "container.said", { container: container.name, line }),
  }));
}
