import type { MessageRow } from "../../message/row.js";
import type { PartialPart, StreamEvent } from "../client/index.js";
import { partKey } from "./layout.js";

/** An answer that is being written, part by part. */
export type Writing = {
  turn_id: string;
  call_id: string;
  /** When its first words came. */
  at: string;
  parts: readonly PartialPart[];
  /** Its rows have begun to arrive: they have the words now, and nothing more is added here. */
  stored: boolean;
};

/** What happens in a chat right now and is not yet written down. Separate threads may each have a turn. */
export type Live = {
  turns: readonly string[];
  writings: readonly Writing[];
  /** Which message each running turn answers, where that was told. */
  asked: Readonly<Record<string, string>>;
};

export const QUIET: Live = { turns: [], writings: [], asked: {} };

/** What is being written in the chat after this event. */
export function hear(live: Live, event: StreamEvent): Live {
  switch (event.type) {
    case "turn.started":
      return {
        ...running(live, event.turn_id),
        asked: { ...live.asked, [event.turn_id]: event.trigger_id },
      };
    case "turn.snapshot":
      return withWriting(running(live, event.turn_id), { ...event, stored: false });
    case "turn.delta":
      return withWriting(running(live, event.turn_id), grown(live, event));
    case "turn.ended":
      return {
        turns: live.turns.filter((id) => id !== event.turn_id),
        writings: live.writings.filter(({ turn_id }) => turn_id !== event.turn_id),
        asked: Object.fromEntries(Object.entries(live.asked).filter(([id]) => id !== event.turn_id)),
      };
    case "message":
    case "host":
      return event.message ? withStored(live, event.message) : live;
    case "message.revised":
    case "outcome":
    case "delivery":
    case "chat":
      return live;
  }
}

/**
 * What is being written, as the rows it will become: they are drawn the same way and have the same keys,
 * so that nothing on the page moves when the stored rows take their place.
 */
export function rowsBeingWritten(live: Live, chat_jid: string, name: string): MessageRow[] {
  return live.writings.flatMap(({ turn_id, call_id, at, parts }) =>
    parts.map(({ part, type, content }) => ({
      id: partKey(call_id, part),
      chat_jid,
      seq: Number.MAX_SAFE_INTEGER,
      sender: type === "text" ? "bot" : "thinking",
      sender_name: name,
      content,
      timestamp: at,
      is_from_me: true,
      message_type: "assistant",
      metadata: {},
      turn_id,
      call_id,
      part,
      attachments: [],
      revision: 0,
      edited_at: null,
      deleted_at: null,
    })),
  );
}

function running(live: Live, turn_id: string): Live {
  // A resumed stream tells what is being written first, and that the turn began afterwards: keep what is known.
  return live.turns.includes(turn_id) ? live : { ...live, turns: [...live.turns, turn_id] };
}

function grown(live: Live, event: Extract<StreamEvent, { type: "turn.delta" }>): Writing {
  const known = live.writings.find((writing) => writing.call_id === event.call_id);
  if (known?.stored) return known;
  const parts = known?.parts ?? [];
  const old = parts.find((part) => part.part === event.part);
  const part = { part: event.part, type: event.kind, content: (old?.content ?? "") + event.delta };
  const { turn_id, call_id } = event;
  return {
    turn_id,
    call_id,
    at: known?.at ?? event.at,
    stored: false,
    parts: [...parts.filter((other) => other !== old), part].sort(byPart),
  };
}

function withWriting(live: Live, { turn_id, call_id, at, parts, stored }: Writing): Live {
  const others = live.writings.filter((writing) => writing.call_id !== call_id);
  return { ...live, writings: [...others, { turn_id, call_id, at, parts, stored }] };
}

/** A row of the answer takes the place of what was streamed for it; the next step of the turn clears the rest. */
function withStored(live: Live, row: MessageRow): Live {
  if (live.writings.length === 0) return live;
  const writings = live.writings.flatMap((writing): Writing[] => {
    if (row.message_type === "assistant" && row.call_id === writing.call_id) {
      return [{ ...writing, stored: true, parts: writing.parts.filter((part) => part.part !== row.part) }];
    }
    return row.turn_id === writing.turn_id && writing.stored ? [] : [writing];
  });
  return { ...live, writings };
}

function byPart(a: PartialPart, b: PartialPart): number {
  return a.part - b.part;
}
