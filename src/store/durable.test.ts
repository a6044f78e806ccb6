import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";

/**
 * A power cut takes what the disk was not told to keep. So: between the last byte written to the log and the word that
 * a message is stored, the log must have been synced. The system calls of a real process show it.
 */

const COUNT = 25;
const SCRIPT = fileURLToPath(new URL("./fixtures/acknowledge.mjs", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "longhand-durable-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const canTrace =
  process.platform === "linux" && spawnSync("strace", ["-o", "/dev/null", "true"]).status === 0;
if (!canTrace)
  console.warn("SKIPPED durable.test.ts: it needs strace (apt-get install strace) and the right to use it");

type Trace = { acknowledged: number; unsynced: number };

/** How many messages were acknowledged, and how many of them before the disk had them. */
function trace(name: string, ...mode: string[]): Trace {
  const output = join(folder, `${name}.trace`);
  const calls = "trace=write,writev,pwrite64,pwritev,fsync,fdatasync";
  const node = [process.execPath, SCRIPT, join(folder, `${name}.db`), String(COUNT), ...mode];
  execFileSync("strace", ["-f", "-y", "-e", calls, "-o", output, ...node], { stdio: "ignore" });
  return read(readFileSync(output, "utf8"));
}

function read(log: string): Trace {
  const found: Trace = { acknowledged: 0, unsynced: 0 };
  let dirty = false;
  let syncedSince = false;
  for (const line of log.split("\n")) {
    if (/ p?writev?(64)?\(\d+<[^>]*-wal>/.test(line)) dirty = true;
    // A call that another thread interrupts is shown twice; it has happened when it is resumed.
    if (/ f(data)?sync\(\d+<[^>]*-wal>\) *= 0/.test(line) || /f(data)?sync resumed>\) *= 0/.test(line)) {
      dirty = false;
      syncedSince = true;
    }
    if (/ write\(1<[^>]*>, "ack /.test(line)) {
      found.acknowledged += 1;
      if (dirty || !syncedSince) found.unsynced += 1;
      syncedSince = false;
    }
  }
  return found;
}

describe.skipIf(!canTrace)("a power cut", () => {
  test("takes nothing that was acknowledged: the log was synced each time before", () => {
    expect(trace("synced")).toEqual({ acknowledged: COUNT, unsynced: 0 });
  });

  test("would be noticed if the log were not synced", () => {
    expect(trace("unsynced", "unsynced")).toEqual({ acknowledged: COUNT, unsynced: COUNT });
  });
});
