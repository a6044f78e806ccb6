import type { Model, ModelRequest } from "../agent/index.js";
import { type Filled, filledTokens, type PathEntry, pathTokens } from "../context/index.js";
import type { LeftOut, SystemPart, Usage } from "../message/index.js";
import type { Expectation, Fact } from "../store/store.js";
import { compact, type CompactionAsk } from "./compaction.js";
import type { Hall } from "./hall.js";
import { leaseOf } from "./lease.js";
import type { TurnState } from "./turnState.js";
import { readWindow, requestOf, type Window } from "./window.js";

/** A request as it is sent next, with the window it was made of. */
export type Fitted = { window: Window; request: ModelRequest; leftOut: LeftOut[] };
/** `failed`: a compaction was tried and did not come about; the request fits all the same. */
export type FitResult = { usage: Usage[] } & (
  | { ok: true; fitted: Fitted; failed: boolean }
  | { ok: false; why: string }
);

export type Fitting = {
  model: Model;
  /** Who may be asked for a summary, the first first. */
  summarisers: readonly Model[];
  /** The model has just said that the request is too long, whatever we think. */
  refused: boolean;
  /** A compaction failed in this turn: another is tried only where the call could not be made without it. */
  failedBefore: boolean;
  signal: AbortSignal;
};

/** Tokens kept free for the answer and for what estimates miss; of a small window, a part of it. */
const RESERVE = 16_384;
const MOST_KEPT = 32_000;
const MOST_SUMMARY = 8_192;
const LEAST_SUMMARY = 256;
/** What a model whose window nobody knows has at least, one may hope, where it has not refused anything yet. */
const HOPED_WINDOW = 32_000;
/** What a model whose window nobody knows is told in one call, to begin with. */
const UNKNOWN_STRETCH = 60_000;
/** Each keeps less than the one before. */
const ROUNDS = 3;

/** The next request of a turn, made to fit the model's window: where it would not, older entries are summarised first. */
export async function fitRequest(hall: Hall, state: TurnState, fitting: Fitting): Promise<FitResult> {
  const { model } = fitting;
  const usage: Usage[] = [];
  let refused = fitting.refused;
  for (let round = 0; ; round++) {
    const fitted = await nextRequest(hall, state);
    const filled = fillOf(fitted, model);
    // A path that is as long as is ever read may have been cut.
    const isCut = fitted.window.path.length >= hall.limits.window;
    const mustShrink = refused || isCut;
    const window = windowFor(model, filled, mustShrink);
    if (window === null || (!mustShrink && filled.tokens <= window - reserveOf(window))) {
      return { ok: true, fitted, usage, failed: false };
    }
    const fitsAnyway = !mustShrink && filled.tokens <= window;
    if (fitsAnyway && (round > 0 || fitting.failedBefore)) return { ok: true, fitted, usage, failed: false };
    const made =
      round < ROUNDS && state.head !== null
        ? await compactTurn(hall, state, state.head, fitting, {
            window: fitted.window,
            ...roomIn(window, fitted.window.path, filled, round),
          })
        : ({
            ok: false,
            why: "summaries of it did not make enough room",
            again: false,
            usage: null,
          } as const);
    if (made.usage) usage.push(made.usage);
    if (made.ok) {
      state.head = made.entry.id;
      refused = false;
      continue;
    }
    hall.log("warn", "compaction.failed", { chat: state.chat.jid, turn: state.turn.id, why: made.why });
    if (made.again) continue;
    if (fitsAnyway || fitting.signal.aborted) return { ok: true, fitted, usage, failed: true };
    return { ok: false, why: tooLong(model, made.why), usage };
  }
}

/** A turn's next request as it stands, however long. */
export async function nextRequest(
  hall: Hall,
  state: Pick<TurnState, "chat" | "head" | "notices" | "turn">,
): Promise<Fitted> {
  const window = await readWindow(hall, state.chat, state.head);
  return { window, ...requestOf(hall, state.chat, window, state.notices, state.turn.id) };
}

/** How much of a model's window a request fills. */
export function fillOf({ request, window }: Pick<Fitted, "request" | "window">, model: Model): Filled {
  const { system = [], messages, tools = [] } = request;
  return filledTokens({ system: partsOf(system), messages, tools }, window.path, window.calls, model);
}

function partsOf(system: string | SystemPart[]): { text: string }[] {
  return typeof system === "string" ? [{ text: system }] : system;
}

/** How many tokens there is room for; of a model that keeps that to itself, fewer than it has just refused. */
function windowFor({ window }: Model, { tokens }: Filled, mustShrink: boolean): number | null {
  if (!mustShrink) return window;
  return Math.min(window ?? Number.POSITIVE_INFINITY, tokens);
}

/** A window to plan by, where nothing has been refused. */
export function plannedWindow({ window }: Model, { tokens }: Filled): number {
  return window ?? Math.max(tokens, HOPED_WINDOW);
}

function reserveOf(window: number): number {
  return Math.min(RESERVE, Math.floor(window / 4));
}

/** How much of a conversation is kept and how long its summary may be, in a window that must also hold the rest. */
export function roomIn(
  window: number,
  path: readonly PathEntry[],
  { tokens, correction }: Filled,
  round = 0,
): Pick<CompactionAsk, "keepTokens" | "summaryTokens" | "stretchTokens" | "correction"> {
  const summaryTokens = Math.min(MOST_SUMMARY, Math.max(LEAST_SUMMARY, Math.floor(window / 8)));
  const history = pathTokens(path) * correction;
  const fixed = Math.max(0, tokens - history);
  const free = Math.max(0, window - reserveOf(window) - fixed - summaryTokens);
  return {
    keepTokens: Math.min(MOST_KEPT, free / 2) / 2 ** round,
    summaryTokens,
    stretchTokens: Math.min(UNKNOWN_STRETCH, window / 2),
    correction,
  };
}

function compactTurn(
  hall: Hall,
  state: TurnState,
  head: string,
  { summarisers, signal }: Fitting,
  ask: Omit<CompactionAsk, "models">,
) {
  const { chat, claim, payer, turn } = state;
  const place = {
    chat,
    claim,
    payer,
    turnId: turn.id,
    entryTurnId: turn.id,
    threadId: turn.thread_id,
    head,
    signal,
    laneSignal: state.signal,
    write: (facts: Fact[], expect: Expectation[]) =>
      hall.store.commit({ expect: [leaseOf(claim), ...expect], facts }),
  };
  return compact(hall, place, { ...ask, models: summarisers });
}

/** Who may be asked for a summary: the model in question, then the other one. An agent outside this process is none. */
export function summarisersOf(
  { model, fallback }: { model: Model; fallback: Model | null },
  first: Model,
): Model[] {
  const all = [first, model, ...(fallback ? [fallback] : [])];
  return [...new Set(all)].filter(({ api }) => api !== "container");
}

function tooLong({ window, id }: Model, why: string): string {
  const room = window === null ? "" : ` of ${window} tokens`;
  return `the conversation does not fit the window${room} of ${id}, and could not be made shorter: ${why}`;
}
