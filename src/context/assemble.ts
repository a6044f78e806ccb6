import { type LLMMessage, type Origin, project, type SystemPart, UserMessage } from "../message/index.js";
import type { Assembled, ContextInput, Notice } from "./context.js";
import { noticeText } from "./notice.js";
import { defaultPrompt } from "./prompt.js";
import { type Piece, sessionOf } from "./session.js";

/**
 * What a model sees: the one way from a chat to a request. Live turns, previews, summaries, replays and containers
 * all pass through here. Pure: the same input gives the same bytes, for ever.
 */
export function assemble(input: ContextInput): Assembled {
  const { pieces, left_out } = sessionOf(input);
  const assembled: Assembled = { system: systemParts(input), messages: [], origins: new Map(), left_out };
  const tail = input.chat.notices === "tail" ? input.notices : [];
  const lastTurn = pieces.findLastIndex((piece) => piece.isTurn);

  pieces.forEach((piece, index) => {
    addPiece(piece, assembled);
    if (index === lastTurn) addNotices(tail, piece.message.timestamp, assembled);
  });
  if (lastTurn === -1) addNotices(tail, pieces.at(-1)?.message.timestamp ?? 0, assembled);
  return assembled;
}

function systemParts({ chat, notices }: ContextInput): SystemPart[] {
  const prompt: SystemPart = {
    kind: "system",
    text: chat.system_prompt ?? defaultPrompt(chat.assistant_name),
    sources: [{ type: "prompt", id: chat.jid }],
  };
  if (chat.notices === "tail") return [prompt];
  return [
    prompt,
    ...notices.map(
      (notice): SystemPart => ({ kind: "notice", text: noticeText(notice), sources: noticeSources(notice) }),
    ),
  ];
}

function addPiece({ message, origin, whyNot }: Piece, assembled: Assembled): void {
  const projected = project(message);
  if (projected) add(projected, origin, assembled);
  else assembled.left_out.push(...origin.sources.map(({ id }) => ({ message_id: id, reason: whyNot })));
}

function addNotices(notices: readonly Notice[], timestamp: number, assembled: Assembled): void {
  for (const notice of notices) {
    const message = UserMessage.text(noticeText(notice), { id: `notice:${notice.id}`, timestamp });
    add(message, { kind: "notice", sources: noticeSources(notice) }, assembled);
  }
}

/** Ids come from outside, so two may meet; each message's origin must stay its own. */
function add(message: LLMMessage, origin: Origin, { messages, origins }: Assembled): void {
  let id = message.id;
  while (origins.has(id)) id += "~";
  messages.push(id === message.id ? message : { ...message, id });
  origins.set(id, origin);
}

function noticeSources({ id }: Notice): Origin["sources"] {
  return [{ type: "notice", id }];
}
