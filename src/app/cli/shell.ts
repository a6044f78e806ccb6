import { resolve } from "node:path";
import { ISOLATIONS, type Isolation, runShell } from "../../agent/index.js";
import type { Shell } from "../../gateway/index.js";
import { type Env, SettingError } from "./settings.js";

const TIME_MS = 30_000;
const OUTPUT_BYTES = 64 * 1024;

/** Runs `!commands` of the senders a chat names: in a sandbox, unless LONGHAND_SHELL says otherwise. */
export function shellFrom(env: Env): Shell {
  const isolation = isolationFrom(env.LONGHAND_SHELL?.trim() || "bubblewrap");
  const folder = env.LONGHAND_SHELL_FOLDER?.trim();
  return async (command) => {
    const ended = await runShell(command, {
      isolation,
      timeMs: TIME_MS,
      outputBytes: OUTPUT_BYTES,
      ...(folder ? { cwd: resolve(folder), writable: true } : {}),
    });
    if (ended.status === "refused") return { ok: false, why: ended.why };
    const notes = [
      ...(ended.timed_out ? [`It was ended after ${TIME_MS / 1000} seconds.`] : []),
      ...(ended.cut ? [`Only the first ${OUTPUT_BYTES / 1024} KiB of its output were kept.`] : []),
    ];
    return { ok: true, output: ended.output, exit_code: ended.exit_code, note: notes.join(" ") };
  };
}

function isolationFrom(word: string): Isolation {
  const found = ISOLATIONS.find((isolation) => isolation === word);
  if (found) return found;
  throw new SettingError(`LONGHAND_SHELL is "${word}": set it to one of ${ISOLATIONS.join(", ")}.`);
}
