import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { type Isolation, launchOf, type Sandbox } from "./isolation.js";

/** Whether a way of isolating works on this machine, and if not, why and what to do. */
export type IsolationState = { works: true } | { works: false; why: string };

const PROBE_MS = 5000;

/** Tries what this machine can do, by doing it. */
export async function findIsolation(): Promise<Record<Isolation, IsolationState>> {
  const [bubblewrap, docker] = await Promise.all([tryIsolation("bubblewrap"), tryIsolation("docker")]);
  return { none: { works: true }, bubblewrap, docker };
}

/** Why nothing can be started in a sandbox here, in words; null when it can. */
export async function sandboxProblem({ isolation, folder, reads = [] }: Sandbox): Promise<string | null> {
  const missing = [...(folder ? [folder] : []), ...reads].find((path) => !existsSync(path));
  if (missing !== undefined) return `${missing} does not exist`;
  const state = await tryIsolation(isolation);
  return state.works ? null : state.why;
}

async function tryIsolation(isolation: Isolation): Promise<IsolationState> {
  switch (isolation) {
    case "none":
      return { works: true };
    case "bubblewrap":
      return tryBubblewrap();
    case "docker":
      return tryDocker();
  }
}

async function tryBubblewrap(): Promise<IsolationState> {
  const { program, args, env } = launchOf({ isolation: "bubblewrap" }, ["/bin/sh", "-c", ":"], "probe");
  const tried = await attempt(program, args, env);
  if (tried.ok) return { works: true };
  if (tried.missing) return no("bubblewrap is not installed: apt-get install bubblewrap (Linux only)");
  return no(`bubblewrap cannot make a sandbox here: ${tried.why}`);
}

async function tryDocker(): Promise<IsolationState> {
  const { env } = launchOf({ isolation: "docker" }, ["true"], "probe");
  const tried = await attempt("docker", ["version", "--format", "{{.Server.Version}}"], env);
  if (tried.ok) return { works: true };
  if (tried.missing) return no("docker is not installed");
  return no(`no Docker engine answers: ${tried.why}`);
}

function no(why: string): IsolationState {
  return { works: false, why };
}

type Attempt = { ok: true } | { ok: false; missing: boolean; why: string };

function attempt(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Attempt> {
  return new Promise((resolve) => {
    execFile(
      program,
      [...args],
      { env: { ...env }, timeout: PROBE_MS, killSignal: "SIGKILL" },
      (error, _out, err) => {
        if (!error) return resolve({ ok: true });
        const why = err.trim().split("\n").at(-1) || (error.killed ? "it did not answer" : error.message);
        resolve({ ok: false, missing: error.code === "ENOENT", why });
      },
    );
  });
}
