import type { Client } from "pg";
import { type News, WORK_KINDS } from "../store.js";
import { configOf, type Place } from "./connect.js";

export type Listening = { stop(): Promise<void> };

const AGAIN_MS = 250;
const EVERYTHING: News = { work: [...WORK_KINDS], events: true, settings: true };

/**
 * Hear what other processes wrote. A notification can be lost with the connection that should bring it, so whoever
 * listens is also told to look again after every reconnecting, and every so often anyway.
 */
export async function listen(
  place: Place,
  channel: string,
  lookMs: number,
  /** Is it one of our own? Those have been told already. */
  isOwn: (processId: number) => boolean,
  tell: (news: News) => void,
): Promise<Listening> {
  let client: Client | null = null;
  let stopped = false;
  let again: NodeJS.Timeout | undefined;

  const connect = async (missed: boolean): Promise<void> => {
    const { default: pg } = await import("pg");
    if (stopped) return;
    const fresh = new pg.Client({ ...configOf(place), application_name: "longhand listener" });
    client = fresh;
    const lost = (): void => {
      if (client !== fresh) return;
      client = null;
      void fresh.end().catch(() => {});
      if (!stopped) again = setTimeout(() => void connect(true), AGAIN_MS).unref();
    };
    fresh.on("error", lost);
    fresh.on("end", lost);
    fresh.on("notification", ({ processId, payload }) => {
      if (!isOwn(processId)) tell(newsIn(payload ?? ""));
    });
    try {
      await fresh.connect();
      await fresh.query(`LISTEN "${channel}"`);
      if (missed) tell(EVERYTHING);
    } catch {
      lost();
    }
  };

  const net = setInterval(() => tell(EVERYTHING), lookMs).unref();
  await connect(false);
  return {
    async stop() {
      stopped = true;
      clearInterval(net);
      clearTimeout(again);
      await client?.end().catch(() => {});
    },
  };
}

/** `turn,delivery events settings`, or `-` where there is no work. */
function newsIn(payload: string): News {
  const [kinds = "", ...more] = payload.split(" ");
  const named = kinds.split(",");
  return {
    work: WORK_KINDS.filter((kind) => named.includes(kind)),
    events: more.includes("events"),
    settings: more.includes("settings"),
  };
}
