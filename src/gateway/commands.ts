import { type Chat, clip, type MessageRow } from "../message/index.js";
import type { Claim, Entry, Expectation, Fact, Spending } from "../store/store.js";
import { includes } from "./admission.js";
import { deliveriesOf, platformThread } from "./broadcast.js";
import { tokensOf } from "./budget.js";
import { iso } from "./clock.js";
import type { Command } from "./commandWords.js";
import type { Hall } from "./hall.js";
import { expectCommitted, isOvertaken } from "./lease.js";
import { previewContext } from "./preview.js";
import { newRow } from "./rows.js";
import { type BranchPlace, freshBranch, goOnFrom } from "./treeMoves.js";
import { threadOf } from "./turnLane.js";
import { outcomeFact } from "./turnState.js";
import { type CommandPiece, isAnswer, waitingPieces } from "./waiting.js";

/** Where a command is carried out: by whoever holds the chat's lane. */
export type Place = { chat: Chat; claim: Claim; release: boolean };

/** What a command leads to: words for people, and what it changes. */
type Effect = {
  says: string;
  facts?: Fact[];
  expect?: Expectation[];
  /** Ids of messages whose words it says. */
  quotes?: string[];
};

/** Nobody reads a longer list, and channels would have to cut it. */
const MOST_LISTED = 50;
const NOBODY = "Only people who may run the assistant can give commands.";

/** Carry out a command and answer it with a host message: for people, never for a model. */
export async function answerCommand(hall: Hall, place: Place, piece: CommandPiece): Promise<void> {
  const { chat, claim, release } = place;
  const { lane, fence } = claim;
  if (piece.asked.command.type === "shell" && (await isStartedAlready(hall, place, piece))) return;
  for (let tries = 0; ; tries++) {
    const effect = await effectOf(hall, place, piece);
    const result = await hall.store.settle({
      lease: { lane, fence },
      done: [piece.work.id],
      later: [],
      release,
      expect: effect.expect ?? [],
      facts: [...(effect.facts ?? []), ...commandDone(hall, chat, piece, effect.says, effect.quotes)],
    });
    if (isOvertaken(result, tries) && piece.asked.command.type !== "shell") continue;
    expectCommitted(result);
    if (piece.asked.command.type === "model") hall.chats.forget();
    return;
  }
}

/** The facts of a command that was carried out: its outcome, and what it says. */
export function commandDone(
  hall: Hall,
  chat: Chat,
  { asked }: CommandPiece,
  says: string,
  quotes: readonly string[] = [],
): Fact[] {
  const { message, inbound } = asked;
  // Whose words it repeats is kept, so that it goes with them should they be erased.
  const details = { answers: message.id, ...(quotes.length > 0 ? { quotes } : {}) };
  return [
    ...(says === "" ? [] : hall.hostMessages.facts(chat, says, details, null, platformThread(message))),
    outcomeFact(hall, message, "command", inbound.reason, null),
  ];
}

async function effectOf(hall: Hall, place: Place, piece: CommandPiece): Promise<Effect> {
  const { chat, claim } = place;
  const { command, message } = piece.asked;
  if (!mayCommand(chat, message, command)) return { says: NOBODY };
  switch (command.type) {
    case "stop":
      return { says: "Nothing is running." };
    case "reset":
      return {
        says: "A fresh start: nothing said so far will be read again. It stays in the chat.",
        ...(await freshBranch(hall, branchOf(place, message))),
      };
    case "done":
      return {
        says: "Goodbye. The next message starts a fresh conversation.",
        ...(await freshBranch(hall, branchOf(place, message))),
      };
    case "todos":
      return todos(hall, chat, claim);
    case "context":
      return { says: await contextInWords(hall, chat, threadOf(claim.lane)) };
    case "usage":
      return { says: await usageInWords(hall, chat) };
    case "model":
      return changeModel(hall, chat, command.name);
    case "fork":
      return fork(hall, place, message);
    case "shell":
      return shell(hall, place, message, command.command);
  }
}

/** May this sender give this command now? Settings may have changed since it was admitted. */
export function mayCommand(chat: Chat, message: MessageRow, command: Command): boolean {
  const { sender } = message;
  if (!includes(chat.read, sender) || !includes(chat.allow, sender)) return false;
  return command.type !== "shell" || includes(chat.shell_allow, sender);
}

async function todos(hall: Hall, chat: Chat, claim: Claim): Promise<Effect> {
  const waiting = (await waitingPieces(hall, chat, claim.lane)).filter(isAnswer);
  // What is on the tree is being done.
  const untaken = await hall.store.read.untaken(chat.jid, threadOf(claim.lane), hall.limits.window);
  const undone = new Set(untaken.map((row) => row.id));
  const queued = waiting.filter(({ work, asked }) => asked.prefix === "todo" && undone.has(work.ref));
  if (queued.length === 0) return { says: "Nothing is on the list." };
  const listed = queued.slice(0, MOST_LISTED);
  const lines = listed.map(({ asked: { message } }, index) => {
    return `${index + 1}. ${oneLine(message.sender_name, 80)}: ${oneLine(message.content, 200)}`;
  });
  const more = queued.length > MOST_LISTED ? [`… and ${queued.length - MOST_LISTED} more`] : [];
  return {
    says: ["On the list:", ...lines, ...more].join("\n"),
    quotes: listed.map(({ asked }) => asked.message.id),
  };
}

/** A name or a text with lines of its own would look like somebody else's. */
function oneLine(text: string, limit: number): string {
  return clip(text.trim().replace(/\s+/g, " "), limit);
}

async function contextInWords(hall: Hall, chat: Chat, threadId: string): Promise<string> {
  const result = await previewContext(hall, chat, null, threadId);
  if (!result.ok) return `The context cannot be shown: ${result.why}`;
  const { blocks, left_out, body } = result.preview;
  const bytes = Buffer.byteLength(body);
  const spoken = blocks.filter(({ kind }) => kind === "message").length;
  return [
    `The next call would send ${bytes} bytes (about ${Math.ceil(bytes / 4)} tokens) in ${blocks.length} blocks,`,
    `${spoken} of them messages; ${left_out.length} things are left out. See it whole on the page (the key n) or at /v1/chats/${encodeURIComponent(chat.jid)}/context`,
  ].join(" ");
}

async function usageInWords(hall: Hall, chat: Chat): Promise<string> {
  const days = await hall.store.read.spent({
    accounts: { is: `chat:${chat.jid}` },
    from: "0000-01-01",
    to: "9999-12-31",
  });
  const newest = days.at(-1);
  if (!newest) return "Nothing has been used in this chat yet.";
  const all = days.map(({ spending }) => spending);
  return [spendingLine(newest.day, [newest.spending]), spendingLine("In all", all)].join("\n");
}

function spendingLine(name: string, spendings: readonly Spending[]): string {
  const sum = (of: (spending: Spending) => number) =>
    spendings.reduce((total, spending) => total + of(spending), 0);
  const unpriced = sum((spending) => spending.unpriced);
  const note = unpriced === 0 ? "" : ` (${unpriced} calls of unknown price not counted)`;
  const money = `$${sum((spending) => spending.usd).toFixed(4)}${note}`;
  return `${name}: ${sum(tokensOf)} tokens in ${sum((spending) => spending.calls)} calls, ${money}`;
}

async function changeModel(hall: Hall, chat: Chat, name: string | null): Promise<Effect> {
  const current = chat.model ?? hall.defaultModel;
  if (name === null) return { says: `The model is ${current}.` };
  const found = await hall.resolveModel(name);
  if (!found.ok) return { says: `The model stays ${current}: ${found.why}` };
  // The chat as it is registered: the one in hand has people spelled out.
  const registered = await hall.store.read.chat(chat.jid);
  if (!registered) return { says: `The model stays ${current}.` };
  const at = iso(hall.clock.now());
  return {
    says: `From now on ${name} answers.`,
    facts: [{ type: "chat", chat: { ...registered, model: name }, at }],
    expect: [{ type: "chat_unchanged", chat: registered }],
  };
}

/** Go on from the message this one replies to; the branch that is left stays. */
async function fork(hall: Hall, place: Place, message: MessageRow): Promise<Effect> {
  const { chat, claim } = place;
  const target = await repliedTo(hall, chat, message);
  if (!target) return { says: "Reply `fork` to the message to go on from." };
  const entry = await entryInThread(hall, chat, threadOf(claim.lane), target.id);
  if (!entry) return { says: "That message is not part of the conversation the assistant reads here." };
  return {
    says: "The conversation goes on from there. What came after it stays in the chat, on a branch of its own.",
    ...(await goOnFrom(hall, branchOf(place, message), entry.id, "fork")),
  };
}

/** The newest place of a message in this thread: on the branch that is read now, else on any other. */
async function entryInThread(
  hall: Hall,
  chat: Chat,
  threadId: string,
  messageId: string,
): Promise<Entry | null> {
  const { read } = hall.store;
  const head = await read.head(chat.jid, threadId);
  const path = head === null ? [] : await read.path(chat.jid, head, hall.limits.window);
  const here = path.findLast(({ kind, message_id }) => kind === "message" && message_id === messageId);
  const found = here ?? (await read.entryOf(chat.jid, messageId));
  return found?.thread_id === threadId ? found : null;
}

function branchOf({ chat, claim }: Place, { seq }: MessageRow): BranchPlace {
  return { chat, threadId: threadOf(claim.lane), before: seq };
}

async function repliedTo(hall: Hall, chat: Chat, { metadata }: MessageRow): Promise<MessageRow | null> {
  const { reply_to, source, channel_external_id } = metadata;
  if (typeof reply_to !== "string") return null;
  const ours = await hall.store.read.message(chat.jid, reply_to);
  if (ours) return ours;
  if (typeof source !== "string" || typeof channel_external_id !== "string") return null;
  const delivery = await hall.store.read.delivered(`${source}:${channel_external_id}`, reply_to);
  return delivery ? hall.store.read.message(chat.jid, delivery.message_id) : null;
}

/** A shell command that was started and not finished when the server went down is not run again. */
async function isStartedAlready(
  hall: Hall,
  { chat, claim, release }: Place,
  piece: CommandPiece,
): Promise<boolean> {
  const { lane, fence } = claim;
  const lease = { lane, fence };
  const { id, run_at, attempts } = piece.work;
  if (attempts === 0) {
    const later = [{ id, run_at, attempts: 1 }];
    expectCommitted(await hall.store.settle({ lease, done: [], later, release: false, facts: [] }));
    return false;
  }
  const says = "The command was interrupted by a restart. It may or may not have taken effect.";
  const facts = commandDone(hall, chat, piece, says);
  expectCommitted(await hall.store.settle({ lease, done: [id], later: [], release, facts }));
  return true;
}

/** The output is a row of its own, which the model reads at the next turn. */
async function shell(
  hall: Hall,
  { chat, claim }: Place,
  message: MessageRow,
  command: string,
): Promise<Effect> {
  const ran = await hall.shell(command);
  if (!ran.ok) return { says: `The command was not run: ${ran.why}` };
  const row = newRow({
    id: hall.clock.newId(),
    chat_jid: chat.jid,
    sender: "command_output",
    sender_name: "command_output",
    content: ran.output,
    timestamp: iso(hall.clock.now()),
    message_type: "tool_result",
    metadata: {
      command,
      answers: message.id,
      exit_code: ran.exit_code,
      ...(ran.note === "" ? {} : { note: ran.note }),
    },
    untaken: true,
    thread_id: threadOf(claim.lane),
  });
  const deliveries = deliveriesOf(row, chat, null, platformThread(message), hall.clock);
  return { says: ran.note, facts: [{ type: "message", message: row }, ...deliveries] };
}
