import { brokenRules } from "./chatCompletionsRules.js";
import { chunk } from "./chatCompletionsServer.js";

type WireMessage = { role: string; content: unknown; tool_calls?: unknown[] };
export type SmallRequest = { body: string; messages: WireMessage[]; isSummary: boolean; refused: boolean };

/** What becomes of a summary that is asked for. */
export type SummaryWay = "written" | "cut" | "empty" | "refused" | "failed" | "hangs";

/**
 * A model with a small window, without a network between. It counts four bytes to a token, refuses what is longer as
 * the API would, and keeps every body. Asked for a summary it writes one that counts, so that a chain can be followed.
 */
export class SmallModel {
  readonly requests: SmallRequest[] = [];
  summaryWay: SummaryWay = "written";
  /** The summary's own words, behind its number. */
  summaryWords = "They talked.";
  /** Calls that many tools in a row, when asked to `work`. */
  rounds = 0;
  /** Tells no usage, as some servers do. */
  silent = false;

  constructor(
    public window: number,
    private readonly answerWords = "Noted.",
  ) {}

  /** What the API would have refused for another reason than its length. */
  get broken(): string[] {
    return this.requests.flatMap(({ body }) => brokenRules(body));
  }

  get summaries(): SmallRequest[] {
    return this.requests.filter(({ isSummary, refused }) => isSummary && !refused);
  }

  get turns(): SmallRequest[] {
    return this.requests.filter(({ isSummary, refused }) => !isSummary && !refused);
  }

  get overflows(): SmallRequest[] {
    return this.requests.filter(({ refused }) => refused);
  }

  readonly fetch = async (_url: string, init: RequestInit): Promise<Response> => {
    const body = String(init.body);
    const { messages } = JSON.parse(body) as { messages: WireMessage[] };
    const isSummary = JSON.stringify(messages[0]?.content).includes("You write summaries");
    const tokens = Math.ceil(Buffer.byteLength(body) / 4);
    const refused = tokens > this.window;
    this.requests.push({ body, messages, isSummary, refused });
    if (refused) return overflow(tokens, this.window);
    if (isSummary && this.summaryWay === "hangs") return hanging(init.signal ?? null);
    if (isSummary && this.summaryWay === "failed") return json(400, { error: { message: "no" } });
    const pieces = isSummary ? this.summary() : this.answer(messages);
    const usage = {
      choices: [],
      usage: { prompt_tokens: tokens, completion_tokens: 10 },
    };
    const events = [...pieces, ...(this.silent ? [] : [usage])].map(
      (event) => `data: ${JSON.stringify(event)}\n\n`,
    );
    return new Response(`${events.join("")}data: [DONE]\n\n`, {
      headers: { "content-type": "text/event-stream" },
    });
  };

  private summary(): unknown[] {
    switch (this.summaryWay) {
      case "cut":
        return [chunk({ content: "They" }), chunk({}, "length")];
      case "empty":
        return [chunk({ content: " \n" }), chunk({}, "stop")];
      case "refused":
        return [chunk({ content: "No." }), chunk({}, "content_filter")];
      default:
        return [
          chunk({ content: `Summary ${this.summaries.length}. ${this.summaryWords}` }),
          chunk({}, "stop"),
        ];
    }
  }

  private answer(messages: readonly WireMessage[]): unknown[] {
    const sinceAsked = messages.length - messages.findLastIndex(({ role }) => role === "user") - 1;
    const asked = JSON.stringify(messages.findLast(({ role }) => role === "user")?.content);
    if (this.rounds > 0 && (asked.includes("work") || sinceAsked > 0)) {
      this.rounds--;
      const id = `call_${this.requests.length}`;
      const called = { index: 0, id, type: "function", function: { name: "look", arguments: "{}" } };
      return [chunk({ tool_calls: [called] }), chunk({}, "tool_calls")];
    }
    return [chunk({ content: this.answerWords }), chunk({}, "stop")];
  }
}

function overflow(tokens: number, window: number): Response {
  return json(400, {
    error: {
      code: "context_length_exceeded",
      message: `This model's maximum context length is ${window} tokens. However, your messages resulted in ${tokens} tokens.`,
    },
  });
}

function json(status: number, body: unknown): Response {
  return new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json" } });
}

/** Says nothing until whoever asked hangs up. */
function hanging(signal: AbortSignal | null): Promise<Response> {
  return new Promise((_, reject) => {
    signal?.addEventListener("abort", () => reject(signal.reason));
  });
}
