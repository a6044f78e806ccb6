import { brokenRules, type RuleSwitches } from "./chatCompletionsRules.js";
import { type ScriptedServer, type ServerScript, startScriptedServer } from "./scriptedServer.js";

export type { ServerScript } from "./scriptedServer.js";

/** A Chat Completions server for tests: it keeps every byte it is sent and refuses what the API would refuse. */
export type ChatCompletionsServer = ScriptedServer & {
  /** With `/v1`. */
  baseUrl: string;
};

/** A stream as the API sends it. */
export function eventStream(chunks: readonly unknown[], { newline = "\n", done = true } = {}): string {
  const events = chunks.map((chunk) => `data: ${typeof chunk === "string" ? chunk : JSON.stringify(chunk)}`);
  return [...events, ...(done ? ["data: [DONE]"] : [])]
    .map((event) => `${event}${newline}${newline}`)
    .join("");
}

/** A chunk of a stream with one choice. */
export function chunk(delta: Record<string, unknown>, finish: string | null = null): Record<string, unknown> {
  return {
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta, finish_reason: finish }],
  };
}

const HELLO = eventStream([chunk({ role: "assistant", content: "Hello" }), chunk({}, "stop")]);

/** Starts one on a free port of this machine. */
export async function startChatCompletionsServer(
  switches: RuleSwitches = {},
): Promise<ChatCompletionsServer> {
  const server = await startScriptedServer({ body: HELLO }, ({ url, body }) => {
    if (url !== "/v1/chat/completions") return refuse(404, "not_found", `no ${url} here`);
    const broken = brokenRules(body.toString("utf8"), switches);
    return broken.length > 0 ? refuse(400, "invalid_request_error", broken.join("; ")) : null;
  });
  return Object.assign(server, { baseUrl: `${server.origin}/v1` });
}

function refuse(status: number, code: string, message: string): ServerScript {
  const body = JSON.stringify({ error: { message, type: "invalid_request_error", code } });
  return { status, headers: { "content-type": "application/json" }, body };
}
