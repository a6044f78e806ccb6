import type { PartialPart } from "../store/store.js";

/** A stretch of an answer as it streams. Not stored, not replayed. */
export type LiveDelta = {
  chat_jid: string;
  turn_id: string;
  call_id: string;
  part: number;
  kind: "text" | "thinking";
  delta: string;
};

/** What a running answer has said so far. */
export type Snapshot = { chat_jid: string; turn_id: string; call_id: string; parts: PartialPart[] };

type Running = {
  turn_id: string;
  call_id: string;
  parts: Map<number, { type: "text" | "thinking"; pieces: string[] }>;
};

/** The words of running answers, in memory while they stream. */
export class Live {
  private readonly running = new Map<string, Running>();
  private readonly listeners = new Set<(delta: LiveDelta) => void>();

  begin(chatJid: string, turnId: string, callId: string): void {
    this.running.set(callId, { turn_id: turnId, call_id: callId, parts: new Map() });
    this.chatOfCall.set(callId, chatJid);
  }

  push(delta: LiveDelta): void {
    const answer = this.running.get(delta.call_id);
    if (!answer) return;
    const part = answer.parts.get(delta.part) ?? { type: delta.kind, pieces: [] };
    part.pieces.push(delta.delta);
    answer.parts.set(delta.part, part);
    for (const listener of this.listeners) listener(delta);
  }

  end(callId: string): void {
    this.running.delete(callId);
    this.chatOfCall.delete(callId);
  }

  parts(callId: string): PartialPart[] {
    const answer = this.running.get(callId);
    return answer ? partsOf(answer) : [];
  }

  /** Running answers, of one chat or of all. */
  snapshots(chatJid: string | null): Snapshot[] {
    return [...this.running.values()]
      .map((answer) => ({
        chat_jid: this.chatOfCall.get(answer.call_id) ?? "",
        turn_id: answer.turn_id,
        call_id: answer.call_id,
        parts: partsOf(answer),
      }))
      .filter((snapshot) => chatJid === null || snapshot.chat_jid === chatJid);
  }

  listen(listener: (delta: LiveDelta) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private readonly chatOfCall = new Map<string, string>();
}

function partsOf(answer: Running): PartialPart[] {
  return [...answer.parts].map(([part, { type, pieces }]) => ({ part, type, content: pieces.join("") }));
}
