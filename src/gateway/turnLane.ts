import type { Chat } from "../message/index.js";
import type { Origin } from "./broadcast.js";

/** One turn at a time per chat, or per thread where threads are conversations of their own. */
export function turnLane(chatJid: string, threadId: string): string {
  return `turn:${JSON.stringify([chatJid, threadId])}`;
}

/** The thread whose turns run in a lane. */
export function threadOf(lane: string): string {
  const [, threadId = ""] = JSON.parse(lane.slice("turn:".length)) as string[];
  return threadId;
}

/** The thread of its own in which something said here stands; "" where threads are one conversation. */
export function separateThread(chat: Chat, thread: string | null, origin: Origin): string {
  if (thread === null) return "";
  const binding = chat.bindings.find((bound) =>
    origin.address === null ? bound.channel === origin.source : bound.address === origin.address,
  );
  return binding?.threads === "separate" ? thread : "";
}

/** The thread of its own in which a stored message stands, as `separateThread` put it there. */
export function threadIn(
  chat: Chat,
  { source, channel_external_id, thread_id }: Record<string, unknown>,
): string {
  if (typeof source !== "string" || typeof thread_id !== "string") return "";
  const place = typeof channel_external_id === "string" ? channel_external_id : null;
  const address = place === null ? null : `${source}:${place}`;
  return separateThread(chat, thread_id, { source, address });
}
