import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

type WireMessage = { role: string; content: unknown };

/**
 * A Chat Completions server that keeps every request body it receives, byte for byte, and answers by what was said
 * last: `use a tool` calls the clock, `overload` fails once with 503, anything else is answered in words.
 */
export class KeepingModel {
  readonly bodies: Buffer[] = [];
  readonly headers: Record<string, unknown>[] = [];
  private failures = 0;

  private constructor(private readonly server: Server) {}

  static async start(): Promise<KeepingModel> {
    const server = createServer();
    const model = new KeepingModel(server);
    server.on("request", async (request, response) => {
      // Which models there are, it does not say.
      if (request.method === "GET") return void response.writeHead(404).end();
      const pieces: Buffer[] = [];
      for await (const piece of request) pieces.push(Buffer.from(piece as Uint8Array));
      const body = Buffer.concat(pieces);
      model.bodies.push(body);
      model.headers.push(request.headers);
      const messages = (JSON.parse(body.toString()) as { messages: WireMessage[] }).messages;
      if (model.isOverloaded(messages)) {
        response.writeHead(503, { "retry-after": "0" }).end('{"error":{"message":"overloaded"}}');
        return;
      }
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (const chunk of answer(messages)) response.write(`data: ${JSON.stringify(chunk)}\n\n`);
      response.end("data: [DONE]\n\n");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return model;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/v1`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private isOverloaded(messages: WireMessage[]): boolean {
    if (!lastWords(messages).includes("overload")) return false;
    this.failures++;
    return this.failures % 2 === 1;
  }
}

function lastWords(messages: WireMessage[]): string {
  const last = messages.at(-1);
  return last?.role === "user" ? JSON.stringify(last.content) : "";
}

function answer(messages: WireMessage[]): unknown[] {
  const chunk = (delta: unknown, finish_reason: string | null = null) => ({
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta, finish_reason }],
  });
  const usage = { choices: [], usage: { prompt_tokens: 10 * messages.length, completion_tokens: 7 } };
  if (lastWords(messages).includes("use a tool")) {
    const call = {
      index: 0,
      id: `call_${messages.length}`,
      type: "function",
      function: { name: "clock", arguments: "{}" },
    };
    return [chunk({ role: "assistant", tool_calls: [call] }), chunk({}, "tool_calls"), usage];
  }
  const words = `I have read ${messages.length} messages. `.split(/(?<= )/);
  return [...words.map((content) => chunk({ content })), chunk({}, "stop"), usage];
}
