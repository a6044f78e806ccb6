import { replaceBadCharacters } from "../message/index.js";
import { systemTimer, type Timer } from "../provider/exchange.js";
import { launchOf, type Sandbox } from "./isolation.js";
import { sandboxProblem } from "./isolationProbe.js";
import { type OutsideProcess, startProcess } from "./isolationProcess.js";

/** Where and how far a shell command may run. */
export type ShellOptions = Pick<Sandbox, "isolation" | "writable" | "network" | "env" | "reads" | "image"> & {
  timeMs: number;
  outputBytes: number;
  /** The folder it runs in; an empty place of its own when not given. */
  cwd?: string;
  signal?: AbortSignal;
  timer?: Timer;
};

/** What came of a shell command. */
export type ShellEnd =
  | {
      status: "ran";
      /** Standard output and standard error as they came. */
      output: string;
      /** Null when it was ended by us, or by a signal. */
      exit_code: number | null;
      /** There was more output than is kept. */
      cut: boolean;
      timed_out: boolean;
      stopped: boolean;
    }
  /** It was not run, and why. */
  | { status: "refused"; why: string };

/** Both outputs into one pipe, so that lines keep the order in which they were written. */
const INTERLEAVED = 'exec /bin/sh -c "$1" 2>&1';
/**
 * A sandbox that is made of namespaces has all of the machine's memory, also as its /tmp: a slip such as `tail /dev/zero`
 * would take it. Per process, and per file: 1 GiB. Docker has limits of its own.
 */
const BOUNDED = `ulimit -d 1048576; ulimit -f 2097152; ulimit -c 0; ${INTERLEAVED}`;
let started = 0;

/** Runs a command through `/bin/sh -c`. Without the isolation that was asked for, it does not run at all. */
export async function runShell(command: string, options: ShellOptions): Promise<ShellEnd> {
  const { isolation, cwd, signal, timeMs, outputBytes, timer = systemTimer, ...rest } = options;
  if (command.includes("\u0000"))
    return { status: "refused", why: "a command cannot hold the character U+0000" };
  const sandbox: Sandbox = { ...rest, isolation, folder: cwd ?? null };
  const problem = await sandboxProblem(sandbox);
  if (problem) return { status: "refused", why: `the command was not run: ${problem}` };
  const name = `longhand-shell-${process.pid}-${++started}`;
  const script = isolation === "bubblewrap" ? BOUNDED : INTERLEAVED;
  const outside = startProcess(launchOf(sandbox, ["/bin/sh", "-c", script, "sh", command], name));
  const ended = { timed_out: false, stopped: false };
  const callOff = timer(timeMs, () => {
    ended.timed_out = true;
    void outside.end();
  });
  const stop = (): void => {
    ended.stopped = true;
    void outside.end();
  };
  if (signal?.aborted) stop();
  else signal?.addEventListener("abort", stop, { once: true });
  outside.hangUp();
  const { output, cut } = await collect(outside, outputBytes);
  const exit = await outside.exited;
  callOff();
  signal?.removeEventListener("abort", stop);
  await outside.end();
  if (exit.problem !== null) return { status: "refused", why: `the command was not run: ${exit.problem}` };
  const wasEnded = ended.timed_out || ended.stopped;
  return { status: "ran", output, exit_code: wasEnded ? null : exit.code, cut, ...ended };
}

/** All of it is read, or the command would wait for us; only the beginning is kept. */
async function collect(outside: OutsideProcess, limit: number): Promise<{ output: string; cut: boolean }> {
  const pieces: Buffer[] = [];
  let kept = 0;
  let cut = false;
  const keep = (chunk: Buffer): void => {
    const piece = chunk.subarray(0, limit - kept);
    cut ||= piece.length < chunk.length;
    kept += piece.length;
    if (piece.length > 0) pieces.push(piece);
  };
  outside.stdout.on("data", keep);
  outside.stderr.on("data", keep);
  await Promise.all([closed(outside.stdout), closed(outside.stderr)]);
  const text = Buffer.concat(pieces).toString("utf8");
  // A cut may go through the middle of a character.
  return { output: replaceBadCharacters(cut ? text.replace(/\uFFFD+$/, "") : text), cut };
}

function closed(stream: OutsideProcess["stdout"]): Promise<void> {
  return new Promise((resolve) => {
    if (stream.closed) resolve();
    else stream.once("close", () => resolve());
  });
}
