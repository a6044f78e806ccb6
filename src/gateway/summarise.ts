import { encode, isRetryable, type Model, type ModelRequest } from "../agent/index.js";
import { type SummaryKind, stretchesOf, summaryRequest, type MaterialPiece } from "../context/index.js";
import { AssistantMessage, type Chat, Usage } from "../message/index.js";
import type { Claim, CommitResult, Expectation, Fact } from "../store/store.js";
import type { Hall } from "./hall.js";
import { Interrupted, leaseOf } from "./lease.js";
import { callAlone, type LoneCalled } from "./loneCall.js";
import { isTakenOver } from "./turnState.js";

/** Where a summary is made: under whose lease, at whose cost, and for what. */
export type SummaryPlace = {
  chat: Chat;
  claim: Claim;
  payer: string;
  /** The turn it is made in, or the work that asked for it: its receipts are found by this. */
  turnId: string;
  /** What ends the call. */
  signal: AbortSignal;
  /** What ends the lane's work; its reason tells whether somebody else goes on with it. */
  laneSignal: AbortSignal;
};

export type ToSummarise = {
  kind: SummaryKind;
  pieces: readonly MaterialPiece[];
  splitsTurn: boolean;
  /** The models that may be asked, the first first. */
  models: readonly Model[];
  /** The longest summary that is of use, in tokens. */
  summaryTokens: number;
  /** At most so much is told in one call, in tokens, where the model's window is not known. */
  stretchTokens: number;
  /** By how much true figures are above our estimates. */
  correction: number;
};

/** `usage` of all calls that were made for it, also of one that failed. */
export type Summarised = { usage: Usage } & (
  | { ok: true; summary: string; callIds: string[] }
  | { ok: false; why: string }
);

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 30_000;
/** Our own words around the material, and a margin for what estimates miss. */
const AROUND_TOKENS = 700;
const MARGIN = 0.85;
/** Less than this in one call makes no summary worth its calls. */
const LEAST_STRETCH = 200;

/** Asks for a summary, in stages where the whole is too long for one call. Every call leaves a receipt. */
export function summarise(hall: Hall, place: SummaryPlace, asked: ToSummarise): Promise<Summarised> {
  return new Summariser(hall, place, asked).run();
}

class Summariser {
  private usage = Usage.none();
  private readonly callIds: string[] = [];

  constructor(
    private readonly hall: Hall,
    private readonly place: SummaryPlace,
    private readonly asked: ToSummarise,
  ) {}

  async run(): Promise<Summarised> {
    let why = "there is no model that could be asked for a summary";
    for (const model of this.asked.models) {
      const told = await this.bySize(model);
      if (told.ok) return { ok: true, summary: told.summary, callIds: this.callIds, usage: this.usage };
      why = told.why;
      if (this.place.signal.aborted) break;
    }
    return { ok: false, why, usage: this.usage };
  }

  /** Half as much in one call, as long as the model says that it is too much. */
  private async bySize(model: Model): Promise<Told> {
    let tokens = stretchFor(model, this.asked);
    for (;;) {
      const told = await this.inStages(model, tokens);
      if (told.ok || !told.tooLong || tokens / 2 < LEAST_STRETCH) return told;
      tokens /= 2;
    }
  }

  private async inStages(model: Model, tokens: number): Promise<Told> {
    const { pieces, splitsTurn, kind } = this.asked;
    const stretches = stretchesOf(pieces, Math.max(LEAST_STRETCH, Math.floor(tokens)));
    let soFar: string | null = null;
    for (const [index, stretch] of stretches.entries()) {
      const told = await this.stage(model, {
        kind,
        assistantName: this.place.chat.assistant_name,
        pieces: stretch,
        soFar,
        splitsTurn: splitsTurn && index === stretches.length - 1,
        stamp: { id: this.hall.clock.newId(), timestamp: this.hall.clock.now() },
      });
      if (!told.ok) return told;
      soFar = told.summary;
    }
    return soFar === null ? no("there is nothing to summarise") : { ok: true, summary: soFar };
  }

  private async stage(model: Model, ask: Parameters<typeof summaryRequest>[0]): Promise<Told> {
    const { hall, place } = this;
    const request: ModelRequest = { ...summaryRequest(ask), maxTokens: this.asked.summaryTokens };
    for (let attempt = 1; ; attempt++) {
      const asked = await this.call(model, request, attempt);
      if (!asked.made) return no(asked.why);
      const { message, retryAfterMs } = asked;
      const last = attempt >= hall.limits.attempts || place.signal.aborted;
      if (last || message.stopReason !== "error" || !isRetryable(message.errorKind ?? "unknown")) {
        return readSummary(message);
      }
      const wait = retryAfterMs ?? FIRST_WAIT_MS * 2 ** (attempt - 1);
      await hall.clock.sleep(Math.min(LONGEST_WAIT_MS, wait), place.signal);
    }
  }

  private async call(model: Model, request: ModelRequest, attempt: number): Promise<LoneCalled> {
    const { chat, payer, turnId, signal, laneSignal } = this.place;
    const encoded = encode(model, request);
    const called = await callAlone(this.hall, {
      chat,
      payer,
      turnId,
      model,
      encoded,
      attempt,
      purpose: this.asked.kind,
      leftOut: encoded.leftOut,
      maxTokens: this.asked.summaryTokens,
      signal,
      write: (facts, expect) => this.write(facts, expect),
      received: ({ stopReason }) => {
        if (stopReason === "aborted" && isTakenOver(laneSignal)) {
          throw new Interrupted("the server is going down, or lost its lease");
        }
      },
    });
    if (called.made) {
      this.callIds.push(called.call.id);
      this.usage = Usage.add(this.usage, called.message.usage);
    }
    return called;
  }

  private write(facts: Fact[], expect: Expectation[]): Promise<CommitResult> {
    return this.hall.store.commit({ expect: [leaseOf(this.place.claim), ...expect], facts });
  }
}

type Told = { ok: true; summary: string } | { ok: false; why: string; tooLong: boolean };

/** How much may be told in one call, with room for what was made of the stretches before, and for the summary. */
function stretchFor({ window }: Model, { summaryTokens, stretchTokens, correction }: ToSummarise): number {
  const room = window === null ? stretchTokens : window - 2 * summaryTokens - AROUND_TOKENS;
  return Math.max(LEAST_STRETCH, (room * MARGIN) / correction);
}

/** What an answer is worth as a summary. One that was cut off anywhere has forgotten the rest. */
function readSummary(message: AssistantMessage): Told {
  const { stopReason, errorKind, error } = message;
  if (stopReason === "error") {
    return { ok: false, why: error ?? "the model gave no reason", tooLong: errorKind === "overflow" };
  }
  if (stopReason === "length") return no("the summary ran out of room before it was whole");
  if (stopReason === "refusal") return no("the model refused to write a summary");
  if (stopReason === "aborted") return no("it was stopped");
  const summary = AssistantMessage.textContent(message).trim();
  if (summary === "" || AssistantMessage.toolCalls(message).length > 0) return no("the summary was empty");
  return { ok: true, summary };
}

function no(why: string): Told {
  return { ok: false, why, tooLong: false };
}
