import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { systemTimer, type Timer } from "../provider/exchange.js";
import type { Launch } from "./isolation.js";

/** How a process came to its end. `problem`: it never started. */
export type Exit = { code: number | null; signal: string | null; problem: string | null };

/** A started program with everything it starts itself. */
export type OutsideProcess = {
  stdout: Readable;
  stderr: Readable;
  /** Never throws: a program that does not listen any more is found out by its end. */
  write(text: string): void;
  /** The end of its input. */
  hangUp(): void;
  exited: Promise<Exit>;
  /** Ends it and what it started: asked first, then made to. Resolves once it is gone. */
  end(): Promise<void>;
};

/** From being asked to being made to. */
const GRACE_MS = 2000;

/** Starts a program as the head of a group of processes of its own, so that all of them can be ended together. */
export function startProcess(launch: Launch, graceMs = GRACE_MS, timer: Timer = systemTimer): OutsideProcess {
  const child = spawn(launch.program, [...launch.args], {
    cwd: launch.cwd,
    env: { ...launch.env },
    detached: true,
    stdio: ["pipe", "pipe", "pipe"],
  });
  const exited = exitOf(child);
  child.stdin.on("error", () => {});
  // Whatever it left running goes with it.
  void exited.then(() => signalGroup(child.pid, "SIGKILL"));
  let ending: Promise<void> | null = null;
  return {
    stdout: child.stdout,
    stderr: child.stderr,
    write: (text) => void child.stdin.write(text),
    hangUp: () => void child.stdin.end(),
    exited,
    end() {
      ending ??= endGroup(child, exited, launch, graceMs, timer);
      return ending;
    },
  };
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

function exitOf(child: Child): Promise<Exit> {
  return new Promise((resolve) => {
    child.once("exit", (code, signal) => resolve({ code, signal, problem: null }));
    child.once("error", (error) => {
      if (child.pid === undefined) resolve({ code: null, signal: null, problem: error.message });
    });
  });
}

async function endGroup(
  child: Child,
  exited: Promise<Exit>,
  launch: Launch,
  graceMs: number,
  timer: Timer,
): Promise<void> {
  child.stdin.end();
  if (isRunning(child)) {
    signalGroup(child.pid, "SIGTERM");
    const callOff = timer(graceMs, () => {
      signalGroup(child.pid, "SIGKILL");
      if (launch.cleanUp) runQuietly(launch.cleanUp, launch);
    });
    await exited;
    callOff();
  }
  // Somebody else may hold the pipe of a program that is gone.
  destroyPipes(child);
}

function isRunning(child: Child): boolean {
  return child.pid !== undefined && child.exitCode === null && child.signalCode === null;
}

function destroyPipes(child: Child): void {
  child.stdout.destroy();
  child.stderr.destroy();
  child.stdin.destroy();
}

/** A group that is gone already is what we wanted. */
function signalGroup(pid: number | undefined, signal: "SIGTERM" | "SIGKILL"): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {}
}

/** Not waited for: the engine takes its time, and nothing depends on it. */
function runQuietly([program = "", ...args]: readonly string[], { env }: Launch): void {
  spawn(program, args, { env: { ...env }, stdio: "ignore", detached: true })
    .on("error", () => {})
    .unref();
}
