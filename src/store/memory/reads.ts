import type { MessageRow } from "../../message/index.js";
import { cursorOf, positionOf } from "../events.js";
import { isReadable, windowOf } from "../path.js";
import { holds, termsOf } from "../search.js";
import type { Entry, MessageQuery, PathEntry, StoreReads } from "../store.js";
import { requestOf } from "./calls.js";
import { workInLane } from "./lanes.js";
import { personOf } from "./people.js";
import { messageOf, rowOf } from "./rows.js";
import type { Kept, Room, State } from "./state.js";

/** Everything that can be asked. Answers are copies: changing one changes nothing here. */
export function readsOn(state: State): StoreReads {
  const room = (jid: string): Room | undefined => state.rooms.get(jid);
  const rows = (jid: string, wanted: (kept: Kept, of: Room) => boolean): MessageRow[] => {
    const of = room(jid);
    return of ? of.messages.filter((kept) => wanted(kept, of)).map((kept) => rowOf(of, kept)) : [];
  };
  const copy = <T>(value: T | undefined | null): T | null =>
    value === undefined || value === null ? null : structuredClone(value);

  return {
    chat: async (jid) => copy(room(jid)?.chat),
    chats: async () => state.registered.flatMap((jid) => copy(room(jid)?.chat) ?? []),
    chatOfAddress: async (address) => copy(room(state.chatOfAddress.get(address) ?? "")?.chat),
    addresses: async () =>
      [...state.knocks.values()]
        .filter(({ address }) => !state.chatOfAddress.has(address))
        .sort((a, b) => compare(a.last_seen, b.last_seen) || compare(a.address, b.address))
        .map((known) => ({ ...known })),

    people: async () =>
      [...state.people.values()]
        .sort((a, b) => compare(a.created_at, b.created_at) || compare(a.id, b.id))
        .map((person) => structuredClone(person)),
    personOf: async (sender) => copy(personOf(state, sender)),

    message: async (chat_jid, id) => {
      const of = room(chat_jid);
      return of ? messageOf(of, id) : null;
    },
    messages: async (query) => readMessages(rows(query.chat_jid, matching(query)), query),
    messagesOfTurn: async (chat_jid, turn_id) => rows(chat_jid, (kept) => kept.turn_id === turn_id),
    search: async (chat_jid, words, limit) => {
      const terms = termsOf(words);
      if (terms.length === 0) return [];
      return newest(
        rows(chat_jid, (kept) => kept.content !== "" && holds(kept.content, terms)),
        limit,
      );
    },
    revisions: async (chat_jid, message_id) => {
      const of = room(chat_jid);
      const message = of && messageOf(of, message_id);
      if (!message) return [];
      const { revision, content, timestamp, edited_at, deleted_at } = message;
      const at = deleted_at ?? edited_at ?? timestamp;
      const earlier = structuredClone(of.revisions.get(message_id) ?? []);
      return [...earlier, { revision, content: deleted_at === null ? content : null, at }];
    },
    erasure: async (id) => copy(state.erasures.get(id)),
    attachmentBytes: async (sha256) => state.bytes.get(sha256)?.slice() ?? null,

    inbound: async (chat_jid, message_id) => copy(room(chat_jid)?.inbounds.get(message_id)),
    inbounds: async ({ chat_jid, outcome, after_seq, limit }) => {
      const of = room(chat_jid);
      if (!of) return [];
      return of.messages
        .filter(({ seq }) => seq > after_seq)
        .flatMap(({ id }) => of.inbounds.get(id) ?? [])
        .filter((inbound) => outcome === null || inbound.outcome === outcome)
        .slice(0, limit)
        .map((inbound) => ({ ...inbound }));
    },

    lastAdmitted: async ({ chat_jid, thread_id, senders, since, reasons }) => {
      let last: number | null = null;
      for (const { id, sender, thread_id: thread } of room(chat_jid)?.messages.toReversed() ?? []) {
        const inbound = room(chat_jid)?.inbounds.get(id);
        if (!inbound) continue;
        if (inbound.received_at < since) break;
        if (thread !== thread_id || !senders.includes(sender) || !reasons.includes(inbound.reason)) continue;
        last = Math.max(last ?? 0, inbound.received_at);
      }
      return last;
    },

    untaken: async (chat_jid, thread_id, limit) =>
      rows(chat_jid, (kept) => kept.untaken && kept.thread_id === thread_id).slice(0, limit),
    untold: async (chat_jid, thread_id, limit) =>
      rows(chat_jid, (kept) => kept.untold && kept.thread_id === thread_id).slice(0, limit),
    head: async (chat_jid, thread_id) => room(chat_jid)?.heads.get(thread_id) ?? null,
    path: async (chat_jid, entry_id, limit) => {
      const of = room(chat_jid);
      return of ? windowOf(walk(of, entry_id, limit)) : [];
    },
    entries: async (chat_jid, limit) =>
      newest([...(room(chat_jid)?.entries.values() ?? [])], limit).map((entry) => structuredClone(entry)),
    tree: async ({ chat_jid, after, limit }) => {
      const of = room(chat_jid);
      return of
        ? from(of.entries, after)
            .slice(0, limit)
            .map((entry) => withMessage(of, entry))
        : [];
    },
    entry: async (chat_jid, id) => copy(room(chat_jid)?.entries.get(id)),
    entryOf: async (chat_jid, message_id) =>
      copy(
        [...(room(chat_jid)?.entries.values() ?? [])].findLast(
          (entry) => entry.kind === "message" && entry.message_id === message_id,
        ),
      ),
    labels: async (chat_jid) =>
      [...(room(chat_jid)?.labels.values() ?? [])]
        .sort((a, b) => compare(a.folded, b.folded))
        .map((label) => ({ ...label })),

    turn: async (id) => copy(state.turns.get(id)),
    runningTurn: async (chat_jid, thread_id) =>
      copy(
        [...state.turns.values()].findLast(
          (turn) => turn.chat_jid === chat_jid && turn.thread_id === thread_id && turn.status === "running",
        ),
      ),
    runningTurns: async (chat_jid) =>
      [...state.turns.values()]
        .filter((turn) => (chat_jid === null || turn.chat_jid === chat_jid) && turn.status === "running")
        .map((turn) => ({ ...turn })),
    call: async (id) => copy(state.calls.get(id)?.call),
    calls: async ({ chat_jid, turn_id, after, limit }) =>
      from(state.calls, after)
        .filter(
          (known) => known.call.chat_jid === chat_jid && (turn_id === null || known.turn_id === turn_id),
        )
        .slice(0, limit)
        .map(({ call }) => structuredClone(call)),
    lastCall: async (chat_jid, thread_id) =>
      [...state.calls.values()].findLast(
        (known) => known.call.chat_jid === chat_jid && known.thread_id === thread_id,
      )?.call.id ?? null,
    lastCallOfTurn: async (turn_id) =>
      copy([...state.calls.values()].findLast((known) => known.turn_id === turn_id)?.call),
    callParts: async (ids) =>
      ids.flatMap((id) => {
        const record = state.calls.get(id);
        return record ? [structuredClone({ call: record.call, leftovers: record.leftovers })] : [];
      }),
    partial: async (call_id) =>
      [...(state.calls.get(call_id)?.partial.values() ?? [])]
        .sort((a, b) => a.part - b.part)
        .map((part) => ({ ...part })),
    toolsDone: async (call_id) =>
      [...(state.calls.get(call_id)?.toolsDone ?? [])]
        .sort(([a], [b]) => a - b)
        .map(([index, result]) => ({ index, result: structuredClone(result) })),
    keptReceipts: async ({ before, limit }) =>
      [...state.calls.values()]
        .filter(({ call }) => !call.expired && call.status !== "running" && call.started_at < before)
        .sort((a, b) => compare(a.call.started_at, b.call.started_at))
        .slice(0, limit)
        .map(({ call: { id, chat_jid } }) => ({ id, chat_jid })),
    receiptTotals: async () => ({
      calls: [...state.calls.values()].filter(({ call }) => !call.expired).length,
      bytes: [...state.rooms.values()]
        .flatMap(({ blocks }) => [...blocks.values()])
        .reduce((sum, bytes) => sum + (bytes?.length ?? 0), 0),
      next: null,
    }),
    spent: async ({ accounts, from: first, to }) =>
      [...state.spent]
        .filter(([account]) =>
          "is" in accounts ? account === accounts.is : account.startsWith(accounts.under),
        )
        .flatMap(([account, days]) => [...days].map(([day, spending]) => ({ account, day, spending })))
        .filter(({ day }) => first <= day && day <= to)
        .sort((a, b) => compare(a.account, b.account) || compare(a.day, b.day))
        .map((row) => structuredClone(row)),
    request: async (call_id) => requestOf(state, call_id),

    work: async (kind, lane, limit) => workInLane(state, lane, limit).filter((work) => work.kind === kind),
    delivery: async (id) => copy(state.deliveries.get(id)),
    deliveries: async ({ chat_jid, message_id, state: wanted, after, limit }) =>
      from(state.deliveries, after)
        .filter((delivery) => chat_jid === null || delivery.chat_jid === chat_jid)
        .filter((delivery) => message_id === null || delivery.message_id === message_id)
        .filter((delivery) => wanted === null || delivery.state === wanted)
        .slice(0, limit)
        .map((delivery) => ({ ...delivery })),
    delivered: async (address, external_id) =>
      copy(
        [...state.deliveries.values()].findLast(
          (delivery) => delivery.address === address && delivery.external_id === external_id,
        ),
      ),

    events: async ({ after, chat_jid, limit }) =>
      state.events
        .map((event, index) => ({ cursor: cursorOf(index + 1), ...event }))
        .slice(positionOf(after))
        .filter((event) => chat_jid === null || event.chat_jid === chat_jid)
        .slice(0, limit)
        .map((event) => structuredClone(event)),
    lastEvent: async () => (state.events.length === 0 ? null : cursorOf(state.events.length)),

    token: async (sha256) => copy([...state.tokens.values()].find((token) => token.sha256 === sha256)),
    tokens: async () =>
      [...state.tokens.values()]
        .sort((a, b) => compare(a.created_at, b.created_at) || compare(a.id, b.id))
        .map((token) => structuredClone(token)),
    loginCode: async (sha256) => copy(state.loginCodes.get(sha256)),
    blockKey: async (chat_jid) => room(chat_jid)?.blockKey?.slice() ?? null,
  };
}

function matching(query: MessageQuery): (kept: Kept) => boolean {
  const { after_seq, before_seq, message_type, sender } = query;
  const since = query.since ?? null;
  return (kept) =>
    (after_seq === null || kept.seq > after_seq) &&
    (before_seq === null || kept.seq < before_seq) &&
    (message_type === null || kept.message_type === message_type) &&
    (sender === null || kept.sender === sender) &&
    (since === null || kept.timestamp > since);
}

function readMessages(rows: MessageRow[], { after_seq, before_seq, limit }: MessageQuery): MessageRow[] {
  return after_seq === null && before_seq !== null ? newest(rows, limit) : rows.slice(0, limit);
}

/** From the oldest entry of the window to the newest. */
function walk(room: Room, entry_id: string, limit: number): PathEntry[] {
  const walked: PathEntry[] = [];
  let stop: unknown;
  let entry = room.entries.get(entry_id);
  while (entry && walked.length < limit) {
    walked.push(withMessage(room, entry));
    if (stop === undefined && isReadable(entry)) stop = entry.data.first_kept ?? null;
    if (stop === null || stop === entry.id) break;
    entry = entry.parent === null ? undefined : room.entries.get(entry.parent);
  }
  return walked.reverse();
}

function withMessage(room: Room, entry: Entry): PathEntry {
  const message = entry.message_id === null ? null : messageOf(room, entry.message_id);
  return { ...structuredClone(entry), message };
}

function newest<T>(list: readonly T[], limit: number): T[] {
  return limit > 0 ? list.slice(-limit) : [];
}

/** What comes after one of them; nothing, when that one is not there. */
function from<T>(map: ReadonlyMap<string, T>, after: string | null): T[] {
  if (after === null) return [...map.values()];
  const place = [...map.keys()].indexOf(after);
  return place < 0 ? [] : [...map.values()].slice(place + 1);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
