import type { ServerResponse } from "node:http";
import { z } from "zod";
import { type Gateway, isCursor, type StreamEvent } from "../../gateway/index.js";
import { invalid } from "./problem.js";

const HEARTBEAT_MS = 15_000;
/** A reader this far behind what happens is cut off; it resumes where it was. */
const MAX_BEHIND_BYTES = 4 * 1024 * 1024;

/** `chat[]=x` would be a key nobody knows, and the stream one of all chats. */
export const EventsQuery = z
  .looseObject({ after: z.string().optional(), chat: z.string().optional() })
  .check((context) => {
    for (const key of Object.keys(context.value)) {
      const name = /^(after|chat)\[/.exec(key)?.[1];
      if (!name) continue;
      context.issues.push({ code: "custom", input: key, path: [key], message: `expected ${name}=… once` });
    }
  });

/** The cursor a stream starts after: the one asked for, or now. */
export async function startOf(
  gateway: Gateway,
  after: string | undefined,
  lastEventId: string | undefined,
): Promise<string | null> {
  const asked = lastEventId || after;
  if (!asked) return gateway.events.now();
  const path = lastEventId ? "Last-Event-ID" : "after";
  if (!isCursor(asked)) throw invalid([{ path, reason: "expected the id of an earlier event" }]);
  const newest = await gateway.events.now();
  // A cursor of another log would silently skip everything until this one has caught up.
  if (Number(asked) > Number(newest ?? "0"))
    throw invalid([{ path, reason: `expected the id of an earlier event; the newest is ${newest ?? "0"}` }]);
  return asked;
}

/** Server-sent events: everything after a cursor, then everything to come. */
export async function serveEvents(
  gateway: Gateway,
  after: string | null,
  chatJid: string | null,
  response: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  response.on("close", () => gone.abort());
  response.writeHead(200, {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store",
    "x-accel-buffering": "no",
  });
  // An id without data counts too: a line that is cut before its first event is resumed from here, not from then.
  response.write(`id: ${after ?? "0"}\nretry: 1000\n\n`);
  const beat = setInterval(() => response.write(": still here\n\n"), HEARTBEAT_MS);
  try {
    await gateway.events.stream({
      after,
      chatJid,
      push: (event) => push(response, event),
      drained: () => drained(response),
      signal: gone.signal,
    });
  } finally {
    clearInterval(beat);
    response.end();
  }
}

/** The reader is cut off before more is added, not after: one event of any size always gets through. */
function push(response: ServerResponse, event: StreamEvent): void {
  if (response.destroyed) return;
  if (response.writableLength > MAX_BEHIND_BYTES) {
    response.destroy();
    return;
  }
  const id = event.cursor === null ? "" : `id: ${event.cursor}\n`;
  response.write(`event: ${event.type}\n${id}data: ${event.data}\n\n`);
}

function drained(response: ServerResponse): Promise<void> {
  if (!response.writableNeedDrain || response.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      response.off("drain", done);
      response.off("close", done);
      resolve();
    };
    response.on("drain", done);
    response.on("close", done);
  });
}
