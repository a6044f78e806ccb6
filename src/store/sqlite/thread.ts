import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { StoreUnavailable } from "../store.js";
import { WrongDatabase } from "./migrate.js";
import type { FromWorker, Op, OpResult, WorkerOptions } from "./wire.js";

export type Told = {
  answered(answers: OpResult[][]): void;
  foreign(): void;
  lost(why: string): void;
};
export type Thread = {
  send(ops: Op[]): void;
  /** Only a write that somebody waits for keeps the process alive. */
  busy(yes: boolean): void;
  end(): Promise<void>;
};

/** Start the writing thread; resolves once the database is open and up to date. */
export function startThread(options: WorkerOptions, told: Told): Promise<Thread> {
  const worker = new Worker(workerFile(), { workerData: options });
  return new Promise((resolve, reject) => {
    let lost = "";
    worker.on("message", (message: FromWorker) => {
      switch (message[0]) {
        case "open":
          worker.unref();
          resolve({
            send: (ops) => worker.postMessage(ops),
            busy: (yes) => (yes ? worker.ref() : worker.unref()),
            end: async () => void (await worker.terminate()),
          });
          return;
        case "not_open":
          reject(message[2] ? new StoreUnavailable(message[1]) : new WrongDatabase(message[1]));
          return;
        case "results":
          told.answered(message[1]);
          return;
        case "foreign":
          told.foreign();
      }
    });
    worker.on("error", (error) => {
      lost = error.message;
      reject(error);
    });
    worker.on("exit", () => told.lost(lost || "the writing thread ended"));
  });
}

/**
 * The compiled file. Node cannot run TypeScript in a thread (20 not at all, later ones not with our import
 * paths), so code that runs from `src`, as tests do, uses what the build made of it: `npm test` builds first.
 */
function workerFile(): URL {
  const beside = new URL("./worker.js", import.meta.url);
  const compiled = import.meta.url.endsWith(".ts")
    ? new URL(beside.href.replace(/\/src\/store\/sqlite\/worker\.js$/, "/dist/store/sqlite/worker.js"))
    : beside;
  if (!existsSync(fileURLToPath(compiled)))
    throw new Error(`${fileURLToPath(compiled)} is missing: run npm run build`);
  return compiled;
}
