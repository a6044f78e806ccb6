import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../../dist/app/command/main.js", import.meta.url));
const TOKEN = "test-token-of-the-owner-0123456789";

export type Answered = { status: number; headers: Headers; body: Record<string, unknown> };

/** The real server in a process of its own, which can be killed and started again on the same data. */
export class ServerProcess {
  private child: ChildProcess | null = null;
  /** Everything it printed, on both streams, over all its lives. */
  printed = "";

  private constructor(
    readonly data: string,
    readonly port: number,
    private env: Record<string, string>,
  ) {}

  /** A server on a fresh data folder, or on the one given. */
  static async start(env: Record<string, string> = {}, folder?: string): Promise<ServerProcess> {
    const data = folder ?? mkdtempSync(join(tmpdir(), "longhand-"));
    const server = new ServerProcess(data, await freePort(), env);
    await server.up();
    return server;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get token(): string {
    return TOKEN;
  }

  get database(): string {
    return join(this.data, "longhand.db");
  }

  /** Start it (again), and wait until it listens. */
  async up(env: Record<string, string> = {}): Promise<void> {
    this.env = { ...this.env, ...env };
    const child = spawn(process.execPath, [MAIN, "start"], {
      cwd: this.data,
      env: {
        PATH: process.env.PATH ?? "",
        LONGHAND_DATA: this.data,
        LONGHAND_PORT: String(this.port),
        LONGHAND_TOKEN: TOKEN,
        LONGHAND_DEMO_DELAY_MS: "0",
        ...this.env,
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.child = child;
    await new Promise<void>((resolve, reject) => {
      const hear = (chunk: Buffer) => {
        this.printed += chunk.toString();
        if (chunk.includes("is listening on")) resolve();
      };
      child.stdout.on("data", hear);
      child.stderr.on("data", hear);
      child.once("exit", (code) =>
        reject(new Error(`the server ended with ${code}:\n${this.printed.slice(-2000)}`)),
      );
    });
  }

  /** A second server on the same data folder, on another port. */
  async another(): Promise<ServerProcess> {
    const server = new ServerProcess(this.data, await freePort(), this.env);
    await server.up();
    return server;
  }

  /** kill -9, or another signal. Resolves when the process is gone. */
  async down(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    const child = this.child;
    this.child = null;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill(signal);
    await gone;
  }

  /** Send a signal it may survive, such as SIGSTOP. */
  signal(signal: NodeJS.Signals): void {
    this.child?.kill(signal);
  }

  /** Stop it and remove its data. */
  async dispose(): Promise<void> {
    await this.down();
    rmSync(this.data, { recursive: true, force: true });
  }

  /** One request with the owner's token; the body is sent and read as JSON. */
  async ask(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answered> {
    const response = await fetch(`${this.baseUrl}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${TOKEN}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.includes("json") === true;
    return {
      status: response.status,
      headers: response.headers,
      body: isJson && text ? JSON.parse(text) : { text },
    };
  }

  submit(
    chat: string,
    content: string,
    metadata: Record<string, unknown> = {},
    more: Record<string, unknown> = {},
  ): Promise<Answered> {
    return this.ask("POST", `/v1/chats/${encodeURIComponent(chat)}/submit`, {
      content,
      msg_metadata: spoken(metadata),
      ...more,
    });
  }

  /** Wait until a message has a terminal outcome, and give it. */
  async outcome(chat: string, id: unknown): Promise<Record<string, unknown>> {
    for (let tries = 0; tries < 600; tries++) {
      const { status, body } = await this.ask(
        "GET",
        `/v1/chats/${encodeURIComponent(chat)}/messages/${id}/outcome`,
      );
      if (status !== 200) throw new Error(`no outcome: ${JSON.stringify(body)}`);
      if (body.outcome !== "pending") return body;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(`message ${id} has no outcome after 30 s`);
  }

  /** All messages of a chat. */
  async messages(chat: string): Promise<Record<string, unknown>[]> {
    const all: Record<string, unknown>[] = [];
    for (let after: unknown = 0; after !== null; ) {
      const { body } = await this.ask(
        "GET",
        `/v1/chats/${encodeURIComponent(chat)}/messages?limit=500&after_seq=${after}`,
      );
      all.push(...(body.messages as Record<string, unknown>[]));
      after = body.next;
    }
    return all;
  }
}

/** Metadata of an ordinary person, with what is given in its place. */
export function spoken(metadata: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    source: "slack",
    sender_id: "slack:U06STGBF4Q0",
    sender_display_name: "Olivia",
    sender_type: "human",
    ...metadata,
  };
}

/** A port nobody listens on now. */
export async function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() =>
        address && typeof address === "object" ? resolve(address.port) : reject(new Error("no port")),
      );
    });
  });
}
