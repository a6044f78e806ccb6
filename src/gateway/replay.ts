import { encode } from "../agent/index.js";
import {
  AssistantMessage,
  assistantOfRows,
  type CallAnswer,
  type CallEnvelope,
  type Replay,
} from "../message/index.js";
import type { CommitResult } from "../store/store.js";
import { OPERATOR } from "./budget.js";
import { slotOf } from "./callSlots.js";
import type { Hall } from "./hall.js";
import { callAlone } from "./loneCall.js";
import { modelOfCall } from "./models.js";
import { pastContext } from "./pastContext.js";
import { withPeople } from "./people.js";
import { keptReceipt, type ReceiptGone } from "./receipts.js";

export type ReplayResult =
  | { ok: true; replay: Replay }
  | ReceiptGone
  /** `model`: it cannot be used, with what to type; `refused`: this call cannot be replayed, or not now. */
  | { ok: false; kind: "model" | "refused"; why: string };

/** Somebody was erased while the request was made: it must not leave. */
class ErasedMeanwhile extends Error {}

/**
 * Gives a call's context to the same or another model again. A call of its own, with a receipt; nothing of it is added to
 * the chat, and tools that the model asks for are not run.
 */
export async function replayCall(
  hall: Hall,
  id: string,
  modelName: string | null,
  signal: AbortSignal,
): Promise<ReplayResult> {
  const kept = await keptReceipt(hall, id);
  if (!kept.ok) return kept;
  const { call } = kept;
  if (call.redacted) return gone(call);
  const cannot = whyNot(call);
  if (cannot !== null) return { ok: false, kind: "refused", why: cannot };
  const found = modelName === null ? await modelOfCall(hall, call) : await hall.resolveModel(modelName);
  if (!found.ok) return { ok: false, kind: "model", why: found.why };
  if (found.model.api === "container") {
    const why = `container/${found.model.id} is an agent outside this process, which runs tools of its own; name a model instead, such as ${hall.defaultModel}`;
    return { ok: false, kind: "model", why };
  }
  const registered = await hall.chats.byJid(call.chat_jid);
  if (!registered) return { ok: false, kind: "unknown", why: `the chat of call ${id} was removed` };
  const chat = await withPeople(hall, registered);
  const past = await pastContext(hall, chat, kept);
  if (!past.ok) return { ok: false, kind: "refused", why: past.why };
  const { request, leftOut, head } = past;
  const encoded = encode(found.model, request);
  const write = async (...[facts, expect]: Parameters<Parameters<typeof callAlone>[1]["write"]>) => {
    const result: CommitResult = await hall.store.commit({ expect, facts });
    if (result.status === "conflict" && result.expectation === null) throw new ErasedMeanwhile(result.why);
    return result;
  };
  const slot = await hall.slots.enter(slotOf(found.model), chat.jid, signal);
  try {
    const made = await callAlone(hall, {
      chat,
      payer: OPERATOR,
      model: found.model,
      encoded,
      purpose: "replay",
      turnId: null,
      attempt: 1,
      leftOut: [...leftOut, ...encoded.leftOut],
      maxTokens: null,
      about: { head, replay_of: id },
      signal,
      write,
    });
    if (!made.made) return { ok: false, kind: "refused", why: made.why };
    const answer = answerOf(made.message);
    return {
      ok: true,
      replay: {
        original: { call, answer: await firstAnswer(hall, call) },
        replay: { call: made.call, answer },
        context: { exact: past.differences.length === 0, differences: past.differences },
        notes: notesOn(call, made.call, answer),
      },
    };
  } catch (error) {
    if (error instanceof ErasedMeanwhile) return gone(call);
    throw error;
  } finally {
    slot();
  }
}

function gone({ id }: CallEnvelope): ReceiptGone {
  return { ok: false, kind: "gone", why: `some of what call ${id} sent has been erased` };
}

function whyNot({ id, purpose, status }: CallEnvelope): string | null {
  if (purpose === "compaction" || purpose === "branch_summary") {
    return `call ${id} made a summary; only calls that answer can be replayed`;
  }
  return status === "running" ? `call ${id} is still running; try again when it has ended` : null;
}

/** What a call answered at the time, from the rows it left; null where there are none. */
async function firstAnswer(hall: Hall, call: CallEnvelope): Promise<CallAnswer | null> {
  if (call.turn_id === null) return null;
  const rows = await hall.store.read.messagesOfTurn(call.chat_jid, call.turn_id);
  const own = rows.filter(({ call_id, deleted_at }) => call_id === call.id && deleted_at === null);
  return own.length === 0 ? null : answerOf(assistantOfRows(own, call, []));
}

function answerOf(message: AssistantMessage): CallAnswer {
  const thoughts = message.contents.flatMap((content) =>
    content.type === "thinking" ? [content.content] : [],
  );
  return {
    text: AssistantMessage.textContent(message),
    thinking: thoughts.join("\n\n"),
    tool_calls: AssistantMessage.toolCalls(message).map(({ name, args }) => ({ name, args })),
  };
}

function notesOn(original: CallEnvelope, replay: CallEnvelope, { tool_calls }: CallAnswer): string[] {
  const notes = ["Nothing was added to the chat. The replay's answer is told here once; its receipt stays."];
  if (tool_calls.length > 0) {
    const names = [...new Set(tool_calls.map(({ name }) => name))].join(", ");
    notes.push(
      `The replayed model asked for tools (${names}). They were not run: a replay ends with the first answer.`,
    );
  }
  if (original.api !== replay.api) {
    notes.push(
      `The request is spelled anew for the API ${replay.api}; the first one was for ${original.api}.`,
    );
  }
  if (replay.error !== null) notes.push(`The replay failed: ${replay.error}`);
  return notes;
}
