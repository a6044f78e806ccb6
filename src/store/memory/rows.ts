import type { AttachmentRow, MessageRow } from "../../message/index.js";
import type { Kept, Room } from "./state.js";

/** A message as readers get it: a copy, with what is attached to it. */
export function messageOf(room: Room, id: string): MessageRow | null {
  const seq = room.seqById.get(id);
  const kept = seq === undefined ? undefined : room.messages[seq - 1];
  return kept ? rowOf(room, kept) : null;
}

export function rowOf(room: Room, kept: Kept): MessageRow {
  const { thread_id: _thread, untaken: _untaken, untold: _untold, ...row } = kept;
  return { ...row, metadata: structuredClone(row.metadata), attachments: attachmentsOf(room, kept.id) };
}

function attachmentsOf(room: Room, id: string): AttachmentRow[] {
  const attachments = [...(room.attachments.get(id) ?? [])];
  return attachments.sort(([a], [b]) => a - b).map(([, attachment]) => ({ ...attachment }));
}
