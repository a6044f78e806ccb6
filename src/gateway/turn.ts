import { type AgentEnd, runAgent, runContainer, type UnfinishedBatch, type Used } from "../agent/index.js";
import type { Chat } from "../message/index.js";
import type { Claim, Fact, Turn } from "../store/store.js";
import { platformThread } from "./broadcast.js";
import { payerOf, wasTold } from "./budget.js";
import { iso } from "./clock.js";
import type { Foreseen } from "./foresight.js";
import { agentLimits, type Hall } from "./hall.js";
import { expectCommitted, Interrupted, isOvertaken, leaseOf } from "./lease.js";
import { modelsOf } from "./models.js";
import { closeTurn, type TakenUp, takeUp } from "./resume.js";
import { takeForTurn } from "./take.js";
import { TurnHost } from "./turnHost.js";
import { threadOf } from "./turnLane.js";
import { headOf, type Member, outcomeFact, StopRequested, Superseded, type TurnState } from "./turnState.js";
import { TurnWatch } from "./turnWatch.js";
import type { Untaken } from "./waiting.js";

/** What a turn is about to answer. `left` is the turn a crash cut short in this thread, whoever started it. */
export type TurnStart = {
  claim: Claim;
  chat: Chat;
  members: Member[];
  why: string;
  left: Turn | null;
  untaken: Untaken;
  foreseen: Foreseen | null;
};

/** One turn to its end: its messages are answered, or end in another named outcome. */
export async function runTurn(hall: Hall, begun: TurnStart, signal: AbortSignal): Promise<void> {
  const { claim, chat, members } = begun;
  const models = await modelsOf(hall, chat);
  if (!models.ok) return cannotAnswer(hall, begun, models.why);
  const stop = new AbortController();
  follow(signal, stop);
  const { state, unfinished, used, limitsUsed } = await begin(hall, {
    claim,
    chat,
    members,
    why: begun.why,
    left: begun.left,
    untaken: begun.untaken,
    foreseen: begun.foreseen,
    model: models.model,
    fallback: models.fallback,
    signal: stop.signal,
  });
  const ids = { chat: chat.jid, turn: state.turn.id, trace: state.trigger.id };
  hall.log("info", "turn.started", ids);
  hall.live.beginTurn(chat.jid, state.turn.id);
  const watch = new TurnWatch(hall, state, stop, await idsOfPerson(hall, state.trigger.sender));
  const host = new TurnHost(hall, state, watch, used);
  watch.start();
  try {
    const end = await answer(hall, host, state, { unfinished, used: limitsUsed });
    await watch.close();
    await conclude(hall, host, state, end);
    hall.log("info", "turn.ended", { ...ids, status: end.status });
  } finally {
    await watch.close();
    await host.end();
    hall.live.endTurn(state.turn.id);
  }
}

/** What ends the lane's work ends the turn. */
function follow(signal: AbortSignal, stop: AbortController): void {
  const end = () => stop.abort(signal.reason);
  if (signal.aborted) end();
  else signal.addEventListener("abort", end, { once: true });
}

/** By the agent in this process, or by one outside it. */
function answer(
  hall: Hall,
  host: TurnHost,
  { model, fallback, signal }: TurnState,
  before: { unfinished: UnfinishedBatch | null; used: Used | null },
): Promise<AgentEnd> {
  const limits = agentLimits(hall.limits);
  const container = model.api === "container" ? hall.containers.get(model.id) : undefined;
  const { tools } = hall;
  if (!container) return runAgent(host, { tools, limits, ...before }, signal);
  return runContainer(host, { container, limits, ...before, fallback: fallback && { tools } }, signal);
}

/** An answer was written as it came; every other end is written here. */
async function conclude(
  hall: Hall,
  host: TurnHost,
  { chat, turn, trigger, signal }: TurnState,
  end: AgentEnd,
): Promise<void> {
  const tell = (text: string, details: Record<string, unknown> = {}) =>
    hall.hostMessages.facts(chat, text, details, turn.id, platformThread(trigger));
  const gaveUp = (why: string) =>
    host.finish({ outcome: "failed", reason: why }, tell(`The assistant gave up: ${why}.`));
  switch (end.status) {
    case "answered":
      return;
    case "stopped":
      if (signal.reason instanceof StopRequested)
        return host.finish({ outcome: "stopped", reason: "stopped" }, []);
      if (signal.reason instanceof Superseded) {
        return host.finish({ outcome: "superseded", reason: signal.reason.message }, []);
      }
      throw new Interrupted("the server is going down, or lost its lease");
    case "failed": {
      const why = end.message.error ?? "the model gave no reason";
      const details = { error_kind: end.message.errorKind ?? "unknown" };
      const news = tell(`The assistant could not answer: ${why}`, details);
      return host.finish({ outcome: "failed", reason: why }, news);
    }
    case "refused": {
      const told = await wasTold(hall, chat.jid, end.why);
      const news = told ? [] : tell(`The assistant does not answer: ${end.why}.`, { refused: end.why });
      return host.finish({ outcome: "over_budget", reason: end.why }, news);
    }
    case "too_long":
      return host.finish(
        { outcome: "failed", reason: end.why },
        tell(`The assistant could not answer: ${end.why}.`, { error_kind: "overflow" }),
      );
    case "out_of_steps":
      return gaveUp(`it took more than ${hall.limits.steps} steps`);
    case "out_of_time":
      return gaveUp(`it took longer than ${Math.round(hall.limits.turnMs / 1000)} seconds`);
    case "out_of_money":
      return gaveUp(`it cost more than $${hall.limits.turnUsd}`);
  }
}

async function cannotAnswer(
  hall: Hall,
  { claim, chat, members, left }: TurnStart,
  why: string,
): Promise<void> {
  const { lane, fence } = claim;
  const facts = [
    ...hall.hostMessages.facts(
      chat,
      `The assistant cannot answer: ${why}`,
      {},
      left?.id ?? null,
      members[0] ? platformThread(members[0].message) : null,
    ),
    ...members.map(({ message }) => outcomeFact(hall, message, "failed", why, left?.id ?? null)),
    ...(left ? await closeTurn(hall, left, "failed", chat.assistant_name) : []),
  ];
  const done = members.map(({ work }) => work.id);
  expectCommitted(await hall.store.settle({ lease: { lane, fence }, done, later: [], release: true, facts }));
}

/** Every sender id of the person who speaks with this one. */
async function idsOfPerson(hall: Hall, sender: string): Promise<ReadonlySet<string>> {
  const person = await hall.store.read.personOf(sender);
  return new Set([sender, ...(person?.senders ?? [])]);
}

type Given = Omit<
  TurnState,
  "turn" | "trigger" | "answered" | "payer" | "notices" | "noticesMissing" | "head"
> & {
  left: Turn | null;
  untaken: Untaken;
  foreseen: Foreseen | null;
};
type Begun = { state: TurnState } & Pick<TakenUp, "unfinished" | "used" | "limitsUsed">;

/** Start the turn, or go on with the one a crash cut short. */
async function begin(hall: Hall, { left, untaken, foreseen, ...given }: Given): Promise<Begun> {
  const { claim, chat, members } = given;
  const threadId = threadOf(claim.lane);
  const resumed = members.find(({ message }) => message.id === left?.trigger_id);
  const trigger = (resumed ?? members.at(-1))?.message;
  if (!trigger) throw new Error("a turn needs a message to answer");
  const turn: Turn = resumed && left ? left : await newTurn(hall, chat, threadId, trigger.id);
  const readHead = () => hall.store.read.head(chat.jid, threadId);
  const [gathered, payer, stale, firstHead] = await Promise.all([
    hall.notices({ chat, turn_id: turn.id, trigger, signal: given.signal }),
    payerOf(hall, trigger.sender),
    left && !resumed ? closeTurn(hall, left, "failed") : [],
    foreseen && !resumed ? foreseen.head : readHead(),
  ]);
  for (let tries = 0; ; tries++) {
    const head = tries === 0 ? firstHead : await readHead();
    const { notices, missing: noticesMissing } = gathered;
    const state: TurnState = { ...given, answered: 0, trigger, turn, payer, notices, noticesMissing, head };
    const seen = tries === 0 ? { untaken, foreseen } : {};
    const opening = resumed ? await takeUp(hall, state) : await start(hall, state, seen);
    const facts = [...stale, ...opening.facts];
    const result = await hall.store.commit({ expect: [leaseOf(claim), headOf(state)], facts });
    if (isOvertaken(result, tries)) continue;
    expectCommitted(result);
    const { unfinished, used, limitsUsed, answered } = opening;
    return { state: { ...state, head: opening.head, answered }, unfinished, used, limitsUsed };
  }
}

async function start(hall: Hall, state: TurnState, seen: { untaken?: Untaken; foreseen?: Foreseen | null }) {
  const { untaken, foreseen } = seen;
  const known = { untaken, spokenAt: foreseen?.spokenAt, labels: foreseen?.labels };
  const taking = await takeForTurn(hall, state, state.members, known);
  const started: Fact = { type: "turn_started", turn: state.turn };
  const facts = [started, ...taking.facts];
  return { head: taking.head, facts, unfinished: null, used: null, limitsUsed: null, answered: 0 };
}

async function newTurn(hall: Hall, chat: Chat, threadId: string, triggerId: string): Promise<Turn> {
  return {
    id: hall.clock.newId(),
    chat_jid: chat.jid,
    thread_id: threadId,
    trigger_id: triggerId,
    started_at: iso(hall.clock.now()),
    status: "running",
    ended_at: null,
    interruptions: chat.while_busy === "interrupt" ? await interruptionsBefore(hall, chat.jid, threadId) : 0,
  };
}

/** Entries that no turn wrote, such as notes, may stand behind the last turn. */
const LOOKED_BEHIND = 20;

/** How many turns in a row, just before now, were cut short for the next. */
async function interruptionsBefore(hall: Hall, chatJid: string, threadId: string): Promise<number> {
  const head = await hall.store.read.head(chatJid, threadId);
  const path = head === null ? [] : await hall.store.read.path(chatJid, head, LOOKED_BEHIND);
  // Not by its calls: it may have been cut short before its first.
  const turnId = path.findLast((entry) => entry.turn_id !== null)?.turn_id ?? null;
  const before = turnId === null ? null : await hall.store.read.turn(turnId);
  return before?.status === "superseded" ? before.interruptions + 1 : 0;
}
