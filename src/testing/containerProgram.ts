import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type AgentEnd,
  type AgentLimits,
  type Container,
  modelOfContainer,
  runContainer,
  type UnfinishedBatch,
  type Used,
} from "../agent/index.js";
import { AssistantMessage } from "../message/index.js";
import { RecordingHost } from "./recordingHost.js";

export const LIMITS: AgentLimits = { steps: 10, attempts: 3, timeMs: 20_000, toolMs: 1000, usd: null };

/** Where programs and what they write stand; removed when the tests are done. */
export const folder = mkdtempSync(join(tmpdir(), "longhand-container-"));
export function removeFolder(): void {
  rmSync(folder, { recursive: true, force: true });
}

/** Before each program: `read()` a line (null at the end), `send` an event. */
const PRELUDE = `
import { createInterface } from "node:readline";
import { writeFileSync } from "node:fs";
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const read = async () => { const { done, value } = await lines.next(); return done ? null : JSON.parse(value); };
const send = (...events) => { for (const event of events) process.stdout.write(JSON.stringify(event) + "\\n"); };
const runTools = async () => { send({ type: "run_tools" }); return read(); };
const forever = () => new Promise(() => setInterval(() => {}, 1000));
const input = await read();
`;

let programs = 0;

/** A container out of a few lines of code. */
export function program(code: string, more: Partial<Container> = {}): Container {
  const file = join(folder, `program-${++programs}.mjs`);
  writeFileSync(file, PRELUDE + code);
  return { name: "helper", command: [process.execPath, file], isolation: "none", ...more };
}

type Options = {
  limits?: Partial<AgentLimits>;
  said?: ConstructorParameters<typeof RecordingHost>[1];
  joins?: (string | null)[];
  signal?: AbortSignal;
  host?: (host: RecordingHost) => void;
  unfinished?: UnfinishedBatch;
  used?: Used;
  request?: ConstructorParameters<typeof RecordingHost>[2];
};

/** One turn by it. */
export async function run(container: Container, options: Options = {}) {
  const limits = { ...LIMITS, ...options.limits };
  const host = new RecordingHost(
    modelOfContainer(container, limits),
    options.said ?? ["hello"],
    options.request,
  );
  host.joins = options.joins ?? [];
  options.host?.(host);
  const { unfinished = null, used = null } = options;
  const start = { container, limits, unfinished, used };
  const end = await runContainer(host, start, options.signal ?? new AbortController().signal);
  return { host, end };
}

export const lastText = (host: RecordingHost): string => {
  const last = host.answers.at(-1);
  return last ? AssistantMessage.textContent(last.message) : "";
};
export const whyFailed = (end: AgentEnd): string =>
  end.status === "failed" ? (end.message.error ?? "") : end.status;
