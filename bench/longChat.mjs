import { chatWithDefaults } from "../dist/message/index.js";
import { openSqlite } from "../dist/store/sqlite.js";
import { writeHistory } from "./history.mjs";

/**
 * A chat as years of talk leave it: people speak, every fourth message is the assistant's and has its receipt, all of
 * it stands on the tree, and the last 200 messages come after what was summed up. The newest thousand are written
 * through the store, what was before them in bulk.
 */

export const WINDOW = 200;
const NEWEST = 1_000;
const COMMIT = 100;
const IN_FLIGHT = 4;
const START = Date.UTC(2024, 0, 1);
const JID = "bench";
/** Forks leave one of so many of the newest messages. */
const FORKED = 20;

/**
 * @param {string} path of the database to make
 * @param {{ messages: number, hostRows?: number, forks?: number, trigger?: "mention" | "always" }} size host rows are
 * spread evenly between the newest messages; forks leave one of the last few of them each
 */
export async function buildChat(path, { messages, hostRows = 0, forks = 0, trigger = "mention" }) {
  const chat = chatWithDefaults({ jid: JID, trigger }, "Longhand", []);
  const empty = await openSqlite({ path });
  await commit(empty, [{ type: "chat", chat, at: timeOf(0) }]);
  await empty.close();
  const old = messages - NEWEST;
  if (old > 0) writeHistory(path, { jid: JID, messages: old, call: envelope(0) });

  const store = await openSqlite({ path });
  const running = [];
  for (let from = old; from < messages; from += COMMIT) {
    const facts = [];
    const to = Math.min(from + COMMIT, messages);
    for (let index = from; index < to; index++) addMessage(facts, index, messages, hostRows / NEWEST);
    facts.push(headFact(entryId(to - 1), timeOf(to)));
    running.push(commit(store, facts));
    if (running.length >= IN_FLIGHT) await running.shift();
  }
  await Promise.all(running);
  for (let from = 0; from < forks; from += COMMIT) {
    const facts = [];
    for (let fork = from; fork < Math.min(from + COMMIT, forks); fork++) addFork(facts, fork, messages);
    facts.push(headFact(entryId(messages - 1), timeOf(messages)));
    await commit(store, facts);
  }
  // Closed at once: a little later it would begin to make all this searchable, which nobody asks for here.
  await store.close();
  return chat;
}

async function commit(store, facts) {
  const result = await store.commit({ facts });
  if (result.status !== "committed") throw new Error(`the chat could not be made: ${JSON.stringify(result)}`);
}

function addMessage(facts, index, messages, hostBetween) {
  const isAnswer = index % 4 === 3;
  if (isAnswer) facts.push(callFact(index));
  facts.push({ type: "message", message: isAnswer ? answerRow(index) : personRow(index) });
  facts.push(entryFact(entryId(index), parentOf(index, messages), index, isAnswer ? {} : frozen(index)));
  if (index === summedUpAt(messages)) facts.push(compactionFact(index, messages));
  for (let n = 0; n < hostBetween; n++)
    facts.push({ type: "message", message: hostRow(index, index * hostBetween + n) });
}

/** Something else was said there once; then the chat went on from where it was. */
function addFork(facts, fork, messages) {
  const said = { ...personRow(messages + fork), id: padded(fork, "e") };
  facts.push({ type: "message", message: said });
  const { entry } = entryFact(
    padded(fork, "f"),
    entryId(messages - 1 - (fork % FORKED)),
    messages,
    frozen(fork),
  );
  facts.push({ type: "entry", entry: { ...entry, message_id: said.id } });
  facts.push(headFact(entry.id, timeOf(messages)));
}

/** In the middle of the window: a summary keeps some of what was before it. */
const summedUpAt = (messages) => messages - WINDOW / 2 - 1;
const COMPACTION = "compaction";

function parentOf(index, messages) {
  if (index === 0) return null;
  return index === summedUpAt(messages) + 1 ? COMPACTION : entryId(index - 1);
}

function compactionFact(index, messages) {
  const data = {
    summary: "They talked about the figures of last week.",
    first_kept: entryId(messages - WINDOW),
  };
  const place = { id: COMPACTION, chat_jid: JID, thread_id: "", parent: entryId(index) };
  return {
    type: "entry",
    entry: { ...place, kind: "compaction", message_id: null, turn_id: null, at: timeOf(index), data },
  };
}

function entryFact(id, parent, index, data) {
  const place = { id, chat_jid: JID, thread_id: "", parent };
  const entry = {
    ...place,
    kind: "message",
    message_id: messageId(index),
    turn_id: null,
    at: timeOf(index),
    data,
  };
  return { type: "entry", entry };
}

function headFact(entry_id, at) {
  return { type: "head", chat_jid: JID, thread_id: "", entry_id, reason: "turn", at };
}

const padded = (number, kind) => `0193${kind}000-0000-7000-8000-${String(number).padStart(12, "0")}`;
const messageId = (index) => padded(index, "a");
const entryId = (index) => padded(index, "b");
const callId = (index) => padded(index, "c");
const timeOf = (index) => new Date(START + index * 60_000).toISOString();
const person = (index) => index % 20;

/** Sentences of different lengths, always the same ones. */
function words(index) {
  const sentence = "I looked at the figures again, and the ones from the north still do not add up. ";
  return `${index}: ${sentence.repeat(1 + (index % 4))}`;
}

function row(index, fields) {
  return {
    id: messageId(index),
    chat_jid: JID,
    content: words(index),
    timestamp: timeOf(index),
    is_from_me: false,
    message_type: "user",
    metadata: {},
    turn_id: null,
    call_id: null,
    part: null,
    dedupe_key: null,
    idempotency: null,
    untaken: false,
    thread_id: "",
    ...fields,
  };
}

function personRow(index) {
  const name = `Person ${person(index)}`;
  const sender = `slack:U${person(index)}`;
  const metadata = { source: "slack", sender_id: sender, sender_display_name: name, sender_type: "human" };
  return row(index, { sender, sender_name: name, metadata, dedupe_key: String(index).padStart(64, "0") });
}

function answerRow(index) {
  return row(index, {
    sender: "bot",
    sender_name: "Longhand",
    is_from_me: true,
    message_type: "assistant",
    call_id: callId(index),
    part: 0,
  });
}

function hostRow(index, n) {
  const content = `The channel was away for a moment (${n}).`;
  const id = padded(n, "d");
  return row(index, {
    id,
    content,
    sender: "host",
    sender_name: "host",
    is_from_me: true,
    message_type: "host",
  });
}

/** What a turn freezes when it takes a person's message. */
function frozen(index) {
  const label = `Person ${person(index)}`;
  return { label, mention_token: null, time_line: null, trigger_end: 0, revision: 0, attachments: [] };
}

function callFact(index) {
  return {
    type: "call_started",
    call: envelope(index),
    request: { base: null, blocks: [], left_out: [], breaks: [] },
  };
}

function envelope(index) {
  return {
    id: callId(index),
    chat_jid: JID,
    turn_id: null,
    attempt: 1,
    purpose: "turn",
    provider: "demo",
    api: "demo",
    model: "demo",
    status: "ok",
    error_kind: null,
    error: null,
    stop_reason: "stop",
    started_at: timeOf(index),
    first_token_ms: 300,
    duration_ms: 2000,
    usage: {
      input_tokens: 4000,
      output_tokens: 100,
      cache_read_tokens: 0,
      cache_write_tokens: 0,
      reasoning_tokens: null,
    },
    cost: null,
    request_sha256: String(index).padStart(64, "0"),
    request_size: 16_000,
    redacted: false,
  };
}
