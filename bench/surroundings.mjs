import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Folders and processes that a row needs around it. None of them outlives the run, however it ends. */

const folders = new Set();
const children = new Set();
process.on("exit", () => {
  for (const child of children) child.kill("SIGKILL");
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));

/** The command line, as it is installed. */
const root = new URL("../", import.meta.url);
const { bin } = JSON.parse(readFileSync(new URL("package.json", root), "utf8"));
export const COMMAND = fileURLToPath(new URL(bin.longhand, root));

/** An empty folder, and how to be rid of it. */
export function temporaryFolder() {
  const path = mkdtempSync(join(tmpdir(), "longhand-bench-"));
  folders.add(path);
  const remove = () => {
    rmSync(path, { recursive: true, force: true });
    folders.delete(path);
  };
  return { path, remove };
}

/**
 * Start a process of Node. With `ipc` it can be talked to.
 * @param {readonly string[]} args
 * @param {{ env?: Record<string, string>, ipc?: boolean, cwd?: string }} options
 */
export function startNode(args, { env = {}, ipc = false, cwd = tmpdir() } = {}) {
  const child = spawn(process.execPath, args, {
    cwd,
    env: { PATH: process.env.PATH ?? "", ...env },
    stdio: ["ignore", "pipe", "inherit", ...(ipc ? ["ipc"] : [])],
  });
  children.add(child);
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const stop = async () => {
    child.kill("SIGTERM");
    await ended;
    children.delete(child);
  };
  return { child, ended, stop };
}

/**
 * The port a process says it listens on.
 * @param {ReturnType<typeof startNode>} started
 * @returns {Promise<number>}
 */
export function announcedPort({ child, ended }) {
  return new Promise((resolve, reject) => {
    let said = "";
    child.stdout.on("data", (chunk) => {
      said += chunk;
      const port = /http:\/\/127\.0\.0\.1:(\d+)/.exec(said)?.[1];
      if (port) resolve(Number(port));
    });
    ended.then((code) => reject(new Error(`it ended with ${code} before it listened: ${said}`)));
  });
}

/** A port nobody listens on now. @returns {Promise<number>} */
export function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
