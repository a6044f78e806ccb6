import { startDeadline } from "../agent/index.js";
import type { Notice } from "../context/index.js";
import { type Chat, clip, type LeftOut, type MessageRow } from "../message/index.js";
import type { Clock } from "./clock.js";
import type { Log } from "./hall.js";

/** The turn a notice is asked for. */
export type NoticeTurn = {
  chat: Chat;
  turn_id: string;
  /** The message that gets the answer; null where somebody only looks what would be sent. */
  trigger: MessageRow | null;
  /** Fires when nobody waits for the notice any more. */
  signal: AbortSignal;
};

/** News for the model in one turn, asked for when the turn starts. */
export type NoticeSource = (turn: NoticeTurn) => Promise<readonly Notice[]>;

/** A source with a name of its own. One text, several notices, or null: there is no news. */
export type NamedNoticeSource = {
  /** As receipts and the log call it. */
  name: string;
  notices(turn: NoticeTurn): Promise<string | readonly Notice[] | null>;
  /** Milliseconds it may take; 5,000 unless told. */
  timeLimitMs?: number;
  /** What it brings quotes people: it is fenced, so that nobody's words pass for the operator's. */
  quotes?: boolean;
};

/** Looks up what may help with a turn. Not asked for one whose message says `trigger_rag: false`. */
export type Retrieve = (turn: NoticeTurn) => Promise<string | readonly Notice[] | null>;

/** What a gateway is told of where notices come from. */
export type NoticeOptions = {
  notices?: NoticeSource | readonly NamedNoticeSource[];
  retrieve?: Retrieve;
};

/** What came in time, and which sources have nothing to show for it. */
export type GatheredNotices = { notices: Notice[]; missing: LeftOut[] };
export type GatherNotices = (turn: NoticeTurn) => Promise<GatheredNotices>;

const TIME_LIMIT_MS = 5000;
/** In UTF-16 code units, and of one source: a notice is news, not a library. */
const LONGEST_NOTICE = 16_000;
const MOST_NOTICES = 32;
const LONGEST_WHY = 200;

/** One way to ask all sources at once: whichever fails or takes too long is left out, and no turn waits for it. */
export function noticeGatherer(
  options: NoticeOptions,
  { clock, log }: { clock: Clock; log: Log },
): GatherNotices {
  const sources = sourcesOf(options);
  return async (turn) => {
    const wanted = sources.filter(({ name }) => name !== RETRIEVAL || isRetrieving(turn));
    const gathered = await Promise.all(wanted.map((source) => askSource(source, turn, clock)));
    const result: GatheredNotices = { notices: [], missing: [] };
    for (const [index, got] of gathered.entries()) {
      if (got.ok) {
        result.notices.push(...got.notices);
        continue;
      }
      const source = wanted[index]?.name ?? "";
      log("warn", "notice.missing", { chat: turn.chat.jid, turn: turn.turn_id, source, why: got.why });
      result.missing.push({
        message_id: `notice:${source}`,
        reason: `no notice from ${source}: ${got.told}`,
      });
    }
    return result;
  };
}

const RETRIEVAL = "retrieval";

function sourcesOf({ notices, retrieve }: NoticeOptions): NamedNoticeSource[] {
  const given: NamedNoticeSource[] =
    typeof notices === "function" ? [{ name: "notices", notices }] : [...(notices ?? [])];
  const names = new Set<string>();
  for (const { name } of given) {
    if (name === "" || name === RETRIEVAL || names.has(name)) {
      throw new TypeError(
        `createGateway: notices: "${name}" cannot be a source's name: give each one of its own`,
      );
    }
    names.add(name);
  }
  if (retrieve) given.push({ name: RETRIEVAL, notices: retrieve, quotes: true });
  return given;
}

function isRetrieving({ trigger }: NoticeTurn): boolean {
  return trigger?.metadata.trigger_rag !== false;
}

/** `told`: for the receipt, which says nothing of what went wrong inside the operator's own code. */
type Asked = { ok: true; notices: Notice[] } | { ok: false; told: string; why: string };

async function askSource(source: NamedNoticeSource, turn: NoticeTurn, clock: Clock): Promise<Asked> {
  const { name, timeLimitMs = TIME_LIMIT_MS } = source;
  const deadline = startDeadline(clock, timeLimitMs, turn.signal);
  const over = new Promise<null>((resolve) => {
    if (deadline.signal.aborted) resolve(null);
    deadline.signal.addEventListener("abort", () => resolve(null), { once: true });
  });
  try {
    // A source may throw before it returns its promise.
    const asking = (async () => ({ got: await source.notices({ ...turn, signal: deadline.signal }) }))();
    const answer = await Promise.race([asking, over]);
    if (answer) return { ok: true, notices: readNotices(source, answer.got) };
    const why = deadline.isOver()
      ? `it took longer than ${timeLimitMs} ms`
      : "the turn was stopped meanwhile";
    return { ok: false, told: why, why };
  } catch (error) {
    const why = clip(error instanceof Error ? error.message : String(error), LONGEST_WHY);
    return { ok: false, told: "it failed", why: `${name}: ${why}` };
  } finally {
    deadline.end();
  }
}

/** What an operator's function gave is theirs to get right; what it is not is said by name. */
function readNotices(
  { name, quotes }: NamedNoticeSource,
  got: string | readonly Notice[] | null | undefined,
): Notice[] {
  if (got === null || got === undefined) return [];
  const all = typeof got === "string" ? [{ id: name, text: got }] : got;
  if (!Array.isArray(all)) throw new TypeError("a source gives a text, a list of { id, text }, or null");
  return all.slice(0, MOST_NOTICES).flatMap(({ id, text, quotes: itself }: Notice) => {
    if (typeof id !== "string" || typeof text !== "string") {
      throw new TypeError("a notice is { id, text }, both of them text");
    }
    const quoting = quotes || itself ? { quotes: true } : {};
    return text === "" ? [] : [{ id, text: clip(text.toWellFormed(), LONGEST_NOTICE), ...quoting }];
  });
}
