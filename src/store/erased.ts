import { createHash } from "node:crypto";
import { type CallEnvelope, ERASED_SENDER, type MessageRow } from "../message/index.js";

/** What stays of a message: where it stood, and that it is gone. */
export function tombstone(at: string) {
  return {
    sender: ERASED_SENDER,
    sender_name: "",
    content: "",
    metadata: {},
    edited_at: null,
    deleted_at: at,
  } satisfies Partial<MessageRow>;
}

/** Did one of them say it, be it as a person or by having a program say it for everybody? */
export function isTheirs(
  { sender, metadata }: Pick<MessageRow, "sender" | "metadata">,
  senders: readonly string[],
): boolean {
  if (senders.includes(sender)) return true;
  return (sender === "system" || sender === "deploy") && senders.includes(String(metadata.sender_id));
}

/** Was it said to answer one of these messages, or does it repeat the words of one? */
export function tellsOf(
  { message_type, metadata }: Pick<MessageRow, "message_type" | "metadata">,
  said: ReadonlySet<string>,
): boolean {
  if (message_type !== "host" && message_type !== "tool_result") return false;
  const quotes: unknown[] = Array.isArray(metadata.quotes) ? metadata.quotes : [];
  return [metadata.answers, ...quotes].some((id) => typeof id === "string" && said.has(id));
}

/** Metadata of a message that came with what others had said before; theirs may be among it. */
export function withoutThreadContext({ thread_context: _, ...metadata }: MessageRow["metadata"]) {
  return { ...metadata, thread_context_erased: true };
}

/** A receipt some of whose words are erased. A hash of them, and an error that quotes them, would tell of them. */
export function redactedCall(call: CallEnvelope): CallEnvelope {
  return { ...call, redacted: true, request_sha256: "", error: call.error === null ? null : "erased" };
}

/** By what a message is known that was erased and comes in again, without saying what it was known by. */
export function erasedKey(blockKey: Uint8Array, kind: "dedupe" | "idempotency", key: string): string {
  return createHash("sha256").update(blockKey).update(`${kind}:${key}`).digest("hex");
}

/** Sources of blocks that hold people's words, their own or in somebody's summary. */
export const SOURCES_WITH_WORDS = ["message", "thread_context", "edit", "compaction", "branch_summary"];

/** Why no message is answered any more, and nothing is said about it, once it is erased. */
export const ERASED = "erased";

export function alreadyErased(id: string): string {
  return `there is already an erasure ${id}`;
}

type Listed = { id: string; base: string | null; base_count: number };

/**
 * Which of a chat's calls, oldest first, have an erased block in their request: in their own list, whose first such
 * block stands at `own`, or in what they take over from an earlier call.
 */
export function callsWith(own: ReadonlyMap<string, number>, calls: readonly Listed[]): string[] {
  const first = new Map<string, number>();
  for (const { id, base, base_count } of calls) {
    const inherited = base === null ? undefined : first.get(base);
    const places = [own.get(id), inherited !== undefined && inherited < base_count ? inherited : undefined];
    const found = places.filter((place) => place !== undefined);
    if (found.length > 0) first.set(id, Math.min(...found));
  }
  return [...first.keys()];
}
