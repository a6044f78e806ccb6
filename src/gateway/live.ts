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

/** What a running turn is saying: nothing while a tool is at work; `call_id` is then its latest call, "" before any. */
export type Snapshot = { chat_jid: string; turn_id: string; call_id: string; parts: PartialPart[] };

type Speaker = Omit<Snapshot, "parts">;
type Answer = Speaker & { parts: Map<number, { type: "text" | "thinking"; pieces: string[] }> };

/** The turns that run here and the words of their answers, in memory while they stream. */
export class Live {
  private readonly turns = new Map<string, Speaker>();
  private readonly answers = new Map<string, Answer>();
  private readonly listeners = new Set<(delta: LiveDelta) => void>();

  /** A turn runs from now on, whether or not an answer of it streams. */
  beginTurn(chatJid: string, turnId: string): void {
    this.turns.set(turnId, { chat_jid: chatJid, turn_id: turnId, call_id: "" });
  }

  endTurn(turnId: string): void {
    this.turns.delete(turnId);
  }

  begin(chatJid: string, turnId: string, callId: string): void {
    const speaker = { chat_jid: chatJid, turn_id: turnId, call_id: callId };
    this.answers.set(callId, { ...speaker, parts: new Map() });
    if (this.turns.has(turnId)) this.turns.set(turnId, speaker);
  }

  push(delta: LiveDelta): void {
    const answer = this.answers.get(delta.call_id);
    if (!answer) return;
    const part = answer.parts.get(delta.part) ?? { type: delta.kind, pieces: [] };
    part.pieces.push(delta.delta);
    answer.parts.set(delta.part, part);
    for (const listener of this.listeners) listener(delta);
  }

  end(callId: string): void {
    this.answers.delete(callId);
  }

  parts(callId: string): PartialPart[] {
    const answer = this.answers.get(callId);
    return answer ? partsOf(answer) : [];
  }

  /** Running turns with what they are saying, of one chat or of all. */
  snapshots(chatJid: string | null): Snapshot[] {
    const answers = [...this.answers.values()].map((answer) => ({ ...answer, parts: partsOf(answer) }));
    const speaking = new Set(answers.map((answer) => answer.turn_id));
    const silent = [...this.turns.values()].filter((turn) => !speaking.has(turn.turn_id));
    return [...answers, ...silent.map((turn) => ({ ...turn, parts: [] }))].filter(
      (snapshot) => chatJid === null || snapshot.chat_jid === chatJid,
    );
  }

  listen(listener: (delta: LiveDelta) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}

function partsOf(answer: Answer): PartialPart[] {
  return [...answer.parts].map(([part, { type, pieces }]) => ({ part, type, content: pieces.join("") }));
}
