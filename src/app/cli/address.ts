import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Where the server of a data folder listens, and which process it is. */
export type ServerAddress = { url: string; pid: number };

const fileIn = (data: string): string => join(data, "address");

/** Leave word of where we listen, for the commands of this folder. */
export function leaveAddress(data: string, url: string): void {
  writeFileSync(fileIn(data), `${url}\n${process.pid}\n`, { mode: 0o600 });
}

/** Take our word back; another server's stays. */
export function removeAddress(data: string): void {
  if (readAddress(data)?.pid === process.pid) rmSync(fileIn(data), { force: true });
}

/** Where the server of this folder listens; null when there is none. */
export function readAddress(data: string): ServerAddress | null {
  const [url = "", pid = ""] = textOf(fileIn(data)).split("\n");
  if (!/^https?:\/\//.test(url) || !URL.canParse(url) || !/^[1-9]\d{0,9}$/.test(pid)) return null;
  // What a killed server left behind may by now be the address of somebody else, who must not get our token.
  return isAlive(Number(pid)) ? { url, pid: Number(pid) } : null;
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
