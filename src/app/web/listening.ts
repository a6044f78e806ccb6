import type { Chat, Delivery, MessageRow } from "../../message/index.js";
import { audienceOf } from "../../message/audience.js";
import { ApiProblem, type CursoredEvent } from "../client/index.js";
import { pendingOutcome } from "./answering.js";
import { hear, QUIET } from "./live.js";
import { catchUp, notYetThere } from "./reading.js";
import { resend } from "./speaking.js";
import { explain, type Page, type State } from "./state.js";
import { readTree } from "./tree/branching.js";
import { withNews, withRevised } from "./transcript.js";

/** No event tells of a knock at the door; now and then somebody looks. */
const LOOK_OUT_EVERY = 60_000;
/** A browser gives one host six connections: a tab nobody looks at hands its own back after a minute. */
const HIDDEN_FOR = 60_000;

/** Listens to what happens for as long as the page is looked at. Returns how to stop. */
export function listen(page: Page): () => void {
  let stop = new AbortController();
  let cursor: string | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const keep = (heard: string): void => {
    cursor = heard;
  };
  const start = (): void => {
    stop = new AbortController();
    void follow(page, stop.signal, cursor, keep);
  };
  const look = (): void => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(() => stop.abort(), HIDDEN_FOR);
    else if (stop.signal.aborted) start();
    // Nothing is said where somebody else goes to another branch; whoever comes back to the page sees it.
    else void readTree(page);
  };
  document.addEventListener("visibilitychange", look);
  start();
  const lookOut = setInterval(
    () => document.hidden || void readAddresses(page).catch(() => null),
    LOOK_OUT_EVERY,
  );
  return () => {
    clearTimeout(timer);
    clearInterval(lookOut);
    document.removeEventListener("visibilitychange", look);
    stop.abort();
  };
}

async function follow(
  page: Page,
  signal: AbortSignal,
  after: string | undefined,
  keep: (cursor: string) => void,
): Promise<void> {
  let cursor = after;
  // What can be asked is asked at once: the page is readable also where a proxy keeps the stream from opening.
  let isFresh = true;
  void refresh(page);
  const pile = heap(page, signal);
  const onState = (state: "open" | "lost"): void => {
    if (state === "lost") {
      page.set({ link: "lost" });
      return;
    }
    // Without a cursor we may have missed the end of a turn; whatever still runs is told again.
    page.set({ link: "open", ...(cursor === undefined ? { live: {} } : {}) });
    void (isFresh ? catchUp(page) : refresh(page));
    isFresh = false;
  };
  try {
    for await (const event of page.client.events({ signal, onState, ...(after ? { after } : {}) })) {
      if (event.cursor) {
        cursor = event.cursor;
        keep(cursor);
      }
      pile(event);
    }
  } catch (error) {
    if (error instanceof ApiProblem && error.status === 410) return follow(page, signal, undefined, keep);
    const trouble = explain(page, error);
    if (page.state().link !== "refused") page.set({ link: "lost", trouble });
  }
}

/** Everything that is not part of the stream, asked again each time it opens. */
export async function refresh(page: Page): Promise<void> {
  const { client } = page;
  resend(page);
  await Promise.all([
    catchUp(page),
    readTree(page),
    quietly(async () => page.set({ chats: byName((await client.chats({ limit: 500 })).chats) })),
    quietly(async () => page.set({ models: (await client.models()).models })),
    quietly(() => readAddresses(page)),
    quietly(async () => page.set({ dead: (await client.outbox({ state: "dead", limit: 500 })).outbox })),
  ]);

  async function quietly(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      const trouble = explain(page, error);
      if (page.state().chats === null) page.set({ trouble });
    }
  }
}

async function readAddresses(page: Page): Promise<void> {
  page.set({ addresses: (await page.client.addresses({ state: "unregistered" })).addresses });
}

/** Hundreds of events may come within one frame; the page is drawn once for all of them. */
function heap(page: Page, signal: AbortSignal): (event: CursoredEvent) => void {
  let waiting: CursoredEvent[] = [];
  const flush = (): void => {
    const events = waiting;
    waiting = [];
    if (!signal.aborted) page.set(events.reduce((state, event) => heard(page, state, event), page.state()));
  };
  return (event) => {
    waiting.push(event);
    if (waiting.length > 1) return;
    if (document.hidden) setTimeout(flush, 50);
    else requestAnimationFrame(flush);
  };
}

function heard(page: Page, state: State, event: CursoredEvent): State {
  const live = { ...state.live, [event.chat_jid]: hear(state.live[event.chat_jid] ?? QUIET, event) };
  return told(page, { ...state, live }, event);
}

function told(page: Page, state: State, event: CursoredEvent): State {
  switch (event.type) {
    case "message":
    case "host":
      if (!event.message) return state;
      if (event.type === "host" && event.chat_jid === state.open) void readTree(page);
      return event.chat_jid === state.open
        ? inOpenChat(page, state, event.message)
        : elsewhere(state, event.message);
    case "message.revised": {
      if (event.chat_jid !== state.open || !state.transcript || !event.message) return state;
      // The tree repeats first words: it is read anew.
      queueMicrotask(() => void readTree(page));
      return { ...state, tree: null, transcript: withRevised(state.transcript, event.message) };
    }
    case "outcome":
      return { ...state, outcomes: { ...state.outcomes, [event.message_id]: event.outcome } };
    case "delivery":
      return event.delivery ? withDelivery(state, event.delivery) : state;
    case "chat":
      return withChat(state, event.chat_jid, event.chat);
    case "turn.ended":
      if (event.chat_jid === state.open) void readTree(page);
      return state;
    case "turn.started":
    case "turn.snapshot":
    case "turn.delta":
      return state;
  }
}

function inOpenChat(page: Page, state: State, message: MessageRow): State {
  if (!state.transcript || state.opening)
    return { ...state, opening: state.opening && { ...state.opening, missed: true } };
  const { transcript, gap } = withNews(state.transcript, message);
  if (gap) void catchUp(page);
  const outcomes = { [message.id]: pendingOutcome(message.id), ...state.outcomes };
  const outgoing = gap ? state.outgoing : notYetThere(state.outgoing, [message]);
  return { ...state, transcript, outgoing, ...(message.message_type === "user" ? { outcomes } : {}) };
}

function elsewhere(state: State, message: MessageRow): State {
  const { chat_jid } = message;
  const { hand } = audienceOf(message).shown;
  if (hand !== "person" && hand !== "assistant") return state;
  return { ...state, unread: { ...state.unread, [chat_jid]: (state.unread[chat_jid] ?? 0) + 1 } };
}

function withDelivery(state: State, delivery: Delivery): State {
  const known = state.deliveries[delivery.message_id] ?? [];
  const others = known.filter(({ id }) => id !== delivery.id);
  const deliveries = { ...state.deliveries, [delivery.message_id]: [...others, delivery] };
  const dead = state.dead.filter(({ id }) => id !== delivery.id);
  return { ...state, deliveries, dead: delivery.state === "dead" ? [...dead, delivery] : dead };
}

function withChat(state: State, jid: string, chat: Chat | null): State {
  const others = (state.chats ?? []).filter((known) => known.jid !== jid);
  return { ...state, chats: byName(chat ? [...others, chat] : others) };
}

function byName(chats: Chat[]): Chat[] {
  return chats.toSorted((a, b) => a.name.localeCompare(b.name));
}
