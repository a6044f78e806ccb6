import { encode } from "../agent/index.js";
import type { Block, Chat, LeftOut } from "../message/index.js";
import { previewAttachments } from "./attachments.js";
import { memoryOf } from "./encodeMemories.js";
import type { Hall } from "./hall.js";
import type { Unstored } from "./ingest.js";
import { modelsOf } from "./models.js";
import { blocksOf } from "./receipts.js";
import { saidMeanwhile, take } from "./take.js";
import { turnLane } from "./turnLane.js";
import { attachmentBytes, hostRowsSince, readWindow, requestOf } from "./window.js";

/** What the next call would send. */
export type Preview = { blocks: Block[]; left_out: LeftOut[]; body: string };
export type PreviewResult = { ok: true; preview: Preview } | { ok: false; why: string };

/**
 * The exact body of the next call, by the live assembler. With a message, as if it had just been said; it is
 * stored nowhere.
 */
export async function previewContext(
  hall: Hall,
  chat: Chat,
  said: Unstored | null,
  threadId: string = said?.threadId ?? "",
): Promise<PreviewResult> {
  const found = await modelsOf(hall, chat);
  if (!found.ok) return { ok: false, why: found.why };
  const head = await hall.store.read.head(chat.jid, threadId);
  const window = await readWindow(hall, chat, head);
  const meanwhile = await saidMeanwhile(hall, chat.jid, threadId, turnLane(chat.jid, threadId));
  const turnId = hall.clock.newId();
  const all = said ? [...meanwhile, said.message] : meanwhile;
  const { rows, bytes } = await previewAttachments(hall, all, said?.bytes ?? new Map());
  const taking = await take(hall, { chat, threadId, head, turnId }, rows);
  const path = [...window.path, ...taking.entries];
  const { notices, missing } = await hall.notices({
    chat,
    turn_id: turnId,
    trigger: all.at(-1) ?? null,
    signal: new AbortController().signal,
  });
  const { request, leftOut } = requestOf(
    hall,
    chat,
    {
      ...window,
      path,
      attachments: new Map([...(await attachmentBytes(hall, path)), ...bytes]),
    },
    notices,
    turnId,
  );
  const encoded = encode(found.model, request, memoryOf(hall, chat.jid, threadId));
  const blocks = await blocksOf(hall, chat.jid, encoded);
  const hostRows = await hostRowsSince(hall, chat.jid, window.path.at(-1)?.at ?? null);
  return {
    ok: true,
    preview: {
      blocks: blocks.map(({ id, kind, size, sources }) => ({ id, kind, size, sources })),
      left_out: [...leftOut, ...missing, ...encoded.leftOut, ...hostRows],
      body: encoded.body,
    },
  };
}
