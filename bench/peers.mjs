import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";

/** What others do with the same histories and streams. They live in a package of their own, which only this installs. */

const folder = new URL("./peers/", import.meta.url);

/**
 * Installs the others if they are missing, and says so.
 * @param {(step: string) => void} progress
 * @returns {boolean} false where they cannot be had: then their lines are left out
 */
export function havePeers(progress) {
  if (existsSync(new URL("node_modules/", folder))) return true;
  progress("installing the packages that are measured beside ours, into bench/peers");
  const npm = spawnSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], {
    cwd: fileURLToPath(folder),
    encoding: "utf8",
    shell: process.platform === "win32",
  });
  if (npm.status === 0) return true;
  process.stderr.write(
    `\nThe lines about other packages are left out: npm ci in bench/peers failed.\n${npm.stderr ?? ""}`,
  );
  return false;
}

/** A module of theirs. @param {string} name */
export async function peer(name) {
  const require = createRequire(new URL("package.json", folder));
  try {
    return await import(pathToFileURL(require.resolve(name)).href);
  } catch {
    // A package without a door for require is asked by its own words.
    return import(new URL(`load.mjs?name=${encodeURIComponent(name)}`, folder).href).then(
      (loaded) => loaded.default,
    );
  }
}

/**
 * The time until a peer hands its request to the network, which answers nothing.
 * @param {(fetch: typeof globalThis.fetch) => unknown} ask
 * @returns {Promise<{ ms: number, bytes: number }>}
 */
export function timeToBody(ask) {
  return new Promise((resolve, reject) => {
    let before = 0;
    const fetch = async (_, init) => {
      const body = String(init?.body ?? "");
      // In one piece, like ours.
      body.charCodeAt(body.length - 1);
      resolve({ ms: performance.now() - before, bytes: body.length });
      throw new DOMException("that is all", "AbortError");
    };
    before = performance.now();
    Promise.resolve(ask(fetch)).then(
      () => undefined,
      (error) => reject(error),
    );
  });
}
