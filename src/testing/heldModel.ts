import { createServer, type ServerResponse } from "node:http";
import { chunk } from "./chatCompletionsServer.js";
import { brokenRules } from "./chatCompletionsRules.js";

type WireToolCall = { id: string; function: { name: string; arguments: string } };
export type WireMessage = {
  role: string;
  content: unknown;
  tool_calls?: WireToolCall[];
  tool_call_id?: string;
};
type Tokens = { input: number; output: number };

const PATIENCE_MS = 20_000;
const FEW: Tokens = { input: 10, output: 5 };

/** One request that a model server holds until a test says what the answer is. */
export class HeldCall {
  readonly model: string;
  readonly messages: WireMessage[];
  /** Whoever asked has hung up. */
  gone = false;

  constructor(
    body: string,
    private readonly response: ServerResponse,
  ) {
    const parsed = JSON.parse(body) as { model: string; messages: WireMessage[] };
    this.model = parsed.model;
    this.messages = parsed.messages;
    response.on("close", () => {
      this.gone = true;
    });
  }

  /** What people said, as the model reads it, without time lines. */
  get heard(): string[] {
    return this.messages
      .filter(({ role }) => role === "user")
      .map(({ content }) => (typeof content === "string" ? content : JSON.stringify(content)))
      .map((text) => text.split("\n").at(-1) ?? "");
  }

  get roles(): string[] {
    return this.messages.map(({ role }) => role).filter((role) => role !== "system");
  }

  /** Some words of an answer that goes on. */
  begin(words: string): void {
    this.open();
    this.write(chunk({ content: words }));
  }

  /** The whole answer, or the rest of it. */
  say(words: string, tokens: Tokens = FEW): void {
    this.begin(words);
    this.finish("stop", tokens);
  }

  /** Ask for tools, all in one batch. */
  use(...names: string[]): void {
    this.open();
    const tool_calls = names.map((name, index) => ({
      index,
      id: `call_${this.messages.length}_${index}`,
      type: "function",
      function: { name, arguments: "{}" },
    }));
    this.write(chunk({ tool_calls }));
    this.finish("tool_calls", FEW);
  }

  fail(status: number, headers: Record<string, string> = {}): void {
    this.response.writeHead(status, { "content-type": "application/json", ...headers });
    this.response.end(JSON.stringify({ error: { message: `status ${status}` } }));
  }

  private finish(reason: string, { input, output }: Tokens): void {
    this.write(chunk({}, reason));
    this.write({ choices: [], usage: { prompt_tokens: input, completion_tokens: output } });
    this.response.end("data: [DONE]\n\n");
  }

  private open(): void {
    if (this.response.headersSent) return;
    this.response.writeHead(200, { "content-type": "text/event-stream" });
  }

  private write(event: unknown): void {
    this.response.write(`data: ${JSON.stringify(event)}\n\n`);
  }
}

/**
 * A Chat Completions server that answers nothing by itself: each request is held until a test says what the answer
 * is. What breaks the API's rules is refused and kept in `broken`.
 */
export type HeldModel = {
  baseUrl: string;
  /** Everything that was asked, in order. */
  calls: HeldCall[];
  broken: string[];
  /** The next request nobody has looked at yet. */
  next(): Promise<HeldCall>;
  /** Answer what comes from now on by itself. */
  answerAll(answer: (call: HeldCall) => void): void;
  close(): Promise<void>;
};

export async function startHeldModel(): Promise<HeldModel> {
  const calls: HeldCall[] = [];
  const broken: string[] = [];
  const unseen: HeldCall[] = [];
  const waiting: ((call: HeldCall) => void)[] = [];
  let answer: ((call: HeldCall) => void) | null = null;
  const server = createServer(async (request, response) => {
    // Which models there are, it does not say.
    if (request.method === "GET") return void response.writeHead(404).end();
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(Buffer.from(piece));
    const body = Buffer.concat(pieces).toString("utf8");
    const call = new HeldCall(body, response);
    calls.push(call);
    broken.push(...brokenRules(body));
    if (answer) return answer(call);
    const taker = waiting.shift();
    if (taker) taker(call);
    else unseen.push(call);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  return {
    baseUrl: `http://127.0.0.1:${address.port}/v1`,
    calls,
    broken,
    next: () => {
      const known = unseen.shift();
      if (known) return Promise.resolve(known);
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error("the model was not asked")), PATIENCE_MS);
        waiting.push((call) => {
          clearTimeout(timer);
          resolve(call);
        });
      });
    },
    answerAll: (how) => {
      answer = how;
      for (const call of unseen.splice(0)) how(call);
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
