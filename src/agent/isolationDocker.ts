import type { Sandbox } from "./isolation.js";

const DEFAULT_IMAGE = "node:22-slim";
const DEFAULT_MEMORY_MB = 512;
const MAX_PROCESSES = 256;

/** The arguments for `docker`: no network, nothing to write to but a small /tmp, no capability, bounded memory. */
export function dockerArguments(sandbox: Sandbox, command: readonly string[], name: string): string[] {
  const { folder, writable = false, reads = [], network = false, env = {} } = sandbox;
  const memory = `${sandbox.memoryMb ?? DEFAULT_MEMORY_MB}m`;
  return [
    "run",
    "--interactive",
    "--rm",
    "--init",
    "--name",
    name,
    "--network",
    network ? "bridge" : "none",
    "--read-only",
    "--tmpfs",
    "/tmp:rw,nosuid,nodev,size=64m",
    "--cap-drop",
    "ALL",
    "--security-opt",
    "no-new-privileges",
    "--pids-limit",
    String(MAX_PROCESSES),
    "--memory",
    memory,
    "--memory-swap",
    memory,
    // The engine would otherwise write every word of the conversation to its own log.
    "--log-driver",
    "none",
    // A name alone hands on the value of our own environment, so no value shows in the arguments.
    ...Object.keys(env).flatMap((key) => ["--env", key]),
    ...reads.flatMap((path) => ["--mount", mount(path, false)]),
    ...(folder ? ["--mount", mount(folder, writable), "--workdir", folder] : []),
    sandbox.image ?? DEFAULT_IMAGE,
    ...command,
  ];
}

/** Docker reads this as a line of CSV, so a path with a comma or a quote needs quotes. */
function mount(path: string, writable: boolean): string {
  const field = (text: string) => `"${text.replaceAll('"', '""')}"`;
  const fields = ["type=bind", field(`source=${path}`), field(`target=${path}`)];
  return [...fields, ...(writable ? [] : ["readonly"])].join(",");
}
