import { type AgentEnd, runAgent } from "../agent/index.js";
import type { Claim, Fact, Turn, Work } from "../store/store.js";
import { fetchAttachments } from "./attachments.js";
import { iso } from "./clock.js";
import type { Hall } from "./hall.js";
import { interruptedTools } from "./resume.js";
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
  if (!trigger || !chat || inbound?.outcome !== "pending") return drop(hall, claim, work, release);
  if (trigger.deleted_at)
    return drop(
      hall,
      claim,
      work,
      release,
      outcomeFact(hall, trigger, "ignored", "deleted before it was answered", null),
    );
  const found = hall.resolveModel(chat.model ?? hall.defaultModel);
  if (!found.ok) {
    const news = hall.hostMessages.facts(chat, `The assistant cannot answer: ${found.why}`);
    return drop(hall, claim, work, release, ...news, outcomeFact(hall, trigger, "failed", found.why, null));
  }
  const state = await begin(hall, { claim, work, release, chat, trigger, model: found.model });
  hall.log("info", "turn.started", { chat: chat.jid, turn: state.turn.id, message: trigger.id });
  const host = new TurnHost(hall, state);
  try {
    const { steps, attempts } = hall.limits;
    const end = await runAgent(host, hall.tools, { steps, attempts }, signal);
    await conclude(hall, host, state, end, signal);
  } finally {
    await host.close();
  }
}

/** An answer was written as it came; every other end is written here. */
async function conclude(
  hall: Hall,
  host: TurnHost,
  { chat, turn }: TurnState,
  end: AgentEnd,
  signal: AbortSignal,
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

/** The work has nothing left to do. */
async function drop(hall: Hall, claim: Claim, work: Work, release: boolean, ...facts: Fact[]): Promise<void> {
  const { lane, fence } = claim;
  expectCommitted(
    await hall.store.settle({ lease: { lane, fence }, done: [work.id], later: [], release, facts }),
  );
}

/** Start the turn, or go on with the one a crash cut short. */
async function begin(hall: Hall, given: Omit<TurnState, "turn" | "notices" | "head">): Promise<TurnState> {
  const { claim, chat, trigger } = given;
  const threadId = threadOf(claim.lane, chat.jid);
  const running = await hall.store.read.runningTurn(chat.jid);
  const resumed = running?.trigger_id === trigger.id ? running : null;
  const turn: Turn = resumed ?? {
    id: hall.clock.newId(),
    chat_jid: chat.jid,
    thread_id: threadId,
    trigger_id: trigger.id,
    started_at: iso(hall.clock.now()),
    status: "running",
    ended_at: null,
  };
  const notices = await hall.notices({ chat, turn_id: turn.id });
  for (;;) {
    const head = await hall.store.read.head(chat.jid, threadId);
    const state = { ...given, turn, notices, head };
    const opening = resumed ? await interruptedTools(hall, state) : await takeRows(hall, state);
    const result = await hall.store.commit({ expect: [leaseOf(claim), headOf(state)], facts: opening.facts });
    if (headMoved(result)) continue;
    expectCommitted(result);
    return { ...state, head: opening.head };
  }
}

async function takeRows(hall: Hall, state: TurnState) {
  const { chat, turn, trigger, claim } = state;
  const meanwhile = await saidMeanwhile(hall, chat.jid, turn.thread_id, claim.lane);
  const rows = await fetchAttachments(hall, [...meanwhile.filter((row) => row.id !== trigger.id), trigger]);
  const place = { chat, threadId: turn.thread_id, head: state.head, turnId: turn.id };
  const taking = await take(hall, place, rows);
  return { head: taking.head, facts: [{ type: "turn_started", turn } as Fact, ...taking.facts] };
}

function threadOf(lane: string, chatJid: string): string {
  return lane.slice(`turn:${chatJid}#`.length);
}
