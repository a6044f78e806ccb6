import { type AgentEnd, runAgent } from "../agent/index.js";
import type { Claim, Fact, Turn, Work } from "../store/store.js";
import { fetchAttachments } from "./attachments.js";
import { iso } from "./clock.js";
import type { Hall } from "./hall.js";
import { threadOf } from "./ingest.js";
import { closeTurn, takeUp } from "./resume.js";
import { saidMeanwhile, take } from "./take.js";
import { TurnHost } from "./turnHost.js";
import {
  expectCommitted,
  headMoved,
  headOf,
  Interrupted,
  leaseOf,
  outcomeFact,
  StopRequested,
  type TurnState,
} from "./turnState.js";

/** One piece of work to its end: the message is answered, or ends in another named outcome. */
export async function runTurn(
  hall: Hall,
  claim: Claim,
  work: Work,
  release: boolean,
  signal: AbortSignal,
): Promise<void> {
  const trigger = await hall.store.read.message(work.chat_jid, work.ref);
  const inbound = await hall.store.read.inbound(work.chat_jid, work.ref);
  const chat = await hall.store.read.chat(work.chat_jid);
  const threadId = threadOf(claim.lane);
  const left = await hall.store.read.runningTurn(work.chat_jid, threadId);
  const drop = async (...facts: Fact[]): Promise<void> => {
    const { lane, fence } = claim;
    const closing = left ? await closeTurn(hall, left, "failed") : [];
    const all = [...facts, ...closing];
    expectCommitted(
      await hall.store.settle({ lease: { lane, fence }, done: [work.id], later: [], release, facts: all }),
    );
  };
  if (!trigger || inbound?.outcome !== "pending") return drop();
  if (!chat) return drop(outcomeFact(hall, trigger, "ignored", "the chat was removed", null));
  if (trigger.deleted_at)
    return drop(outcomeFact(hall, trigger, "ignored", "deleted before it was answered", null));
  const found = hall.resolveModel(chat.model ?? hall.defaultModel);
  if (!found.ok) {
    const news = hall.hostMessages.facts(chat, `The assistant cannot answer: ${found.why}`);
    return drop(...news, outcomeFact(hall, trigger, "failed", found.why, null));
  }
  const state = await begin(
    hall,
    { claim, work, release, chat, trigger, why: inbound.reason, model: found.model, signal },
    threadId,
    left,
  );
  hall.log("info", "turn.started", { chat: chat.jid, turn: state.turn.id, message: trigger.id });
  hall.live.beginTurn(chat.jid, state.turn.id);
  const host = new TurnHost(hall, state);
  try {
    const { steps, attempts } = hall.limits;
    const end = await runAgent(host, hall.tools, { steps, attempts }, signal);
    await conclude(hall, host, state, end);
  } finally {
    await host.close();
    hall.live.endTurn(state.turn.id);
  }
}

/** An answer was written as it came; every other end is written here. */
async function conclude(
  hall: Hall,
  host: TurnHost,
  { chat, turn, signal }: TurnState,
  end: AgentEnd,
): Promise<void> {
  const failed = (why: string, text: string, details: Record<string, unknown>) =>
    host.finish("failed", why, hall.hostMessages.facts(chat, text, details, turn.id));
  switch (end.status) {
    case "answered":
      return;
    case "stopped":
      if (signal.reason instanceof StopRequested) return host.finish("stopped", "stopped", []);
      throw new Interrupted("the server is going down, or lost its lease");
    case "failed": {
      const why = end.message.error ?? "the model gave no reason";
      const details = { error_kind: end.message.errorKind ?? "unknown" };
      return failed(why, `The assistant could not answer: ${why}`, details);
    }
    case "out_of_steps": {
      const why = `it took more than ${hall.limits.steps} steps`;
      return failed(why, `The assistant gave up: ${why}.`, {});
    }
  }
}

type Given = Omit<TurnState, "turn" | "notices" | "head">;

/** Start the turn, or go on with the one a crash cut short. */
async function begin(hall: Hall, given: Given, threadId: string, left: Turn | null): Promise<TurnState> {
  const { claim, chat, trigger } = given;
  const resumed = left?.trigger_id === trigger.id ? left : null;
  const turn: Turn = resumed ?? {
    id: hall.clock.newId(),
    chat_jid: chat.jid,
    thread_id: threadId,
    trigger_id: trigger.id,
    started_at: iso(hall.clock.now()),
    status: "running",
    ended_at: null,
    interruptions: 0,
  };
  const notices = await hall.notices({ chat, turn_id: turn.id });
  const stale = left && !resumed ? await closeTurn(hall, left, "failed") : [];
  for (;;) {
    const head = await hall.store.read.head(chat.jid, threadId);
    const state = { ...given, turn, notices, head };
    const opening = resumed ? await takeUp(hall, state) : await takeRows(hall, state);
    const facts = [...stale, ...opening.facts];
    const result = await hall.store.commit({ expect: [leaseOf(claim), headOf(state)], facts });
    if (headMoved(result)) continue;
    expectCommitted(result);
    return { ...state, head: opening.head };
  }
}

async function takeRows(hall: Hall, state: TurnState) {
  const { chat, turn, trigger, claim } = state;
  const meanwhile = await saidMeanwhile(hall, chat.jid, turn.thread_id, claim.lane);
  const rows = await fetchAttachments(
    hall,
    [...meanwhile.filter((row) => row.id !== trigger.id), trigger],
    claim,
  );
  const place = { chat, threadId: turn.thread_id, head: state.head, turnId: turn.id };
  const taking = await take(hall, place, rows);
  return { head: taking.head, facts: [{ type: "turn_started", turn } as Fact, ...taking.facts] };
}
