import { randomUUID } from "node:crypto";
import { userInfo } from "node:os";
import { explainOutcome, type IngestAnswer, type MessageRow, whyNotAnswered } from "../../message/index.js";
import type { Client } from "../client/index.js";
import type { Connection } from "./connect.js";
import { whatCalls } from "./inspect.js";
import { CommandFailed, type Output } from "./output.js";
import { plain } from "./plain.js";
import { numberedLine, painter, transcriptLine } from "./transcript.js";

const WAIT_MS = 5 * 60_000;

/** Say something, and read the answer as it comes. */
export async function send(
  { client }: Connection,
  chat: string,
  words: string[],
  out: Output,
  options: { as: string | undefined; wait: boolean },
): Promise<void> {
  const content = words.length > 0 ? words.join(" ") : await piped();
  if (content === "") throw new CommandFailed(2, "Say something: longhand send hello");
  const submit = () => client.submit(chat, { content, msg_metadata: me(options.as) });
  if (!options.wait) return told(out, await submit());
  await listening(client, chat, async (events) => {
    const answer = await submit();
    if (answer.admission !== "run" && answer.admission !== "command") {
      told(out, answer);
      throw new CommandFailed(4, await whyQuiet(client, chat, answer));
    }
    await readAnswer(events, answer, out);
  });
}

/** The conversation so far, and with `follow` as it goes on. */
export async function log(
  { client }: Connection,
  chat: string,
  out: Output,
  options: { count: number; follow: boolean; ids: boolean },
): Promise<void> {
  const paint = painter(out.colour);
  const shown = options.ids ? numberedLine : transcriptLine;
  const showNewest = async (): Promise<number> => {
    const { messages } = await client.messages(chat, {
      before_seq: Number.MAX_SAFE_INTEGER,
      limit: options.count,
    });
    for (const row of messages) out.result(row, shown(row, paint));
    return messages.at(-1)?.seq ?? 0;
  };
  if (!options.follow) return void (await showNewest());
  await listening(client, chat, async (events) => {
    let last = await showNewest();
    for await (const event of events) {
      if ((event.type !== "message" && event.type !== "host") || !event.message || event.message.seq <= last)
        continue;
      last = event.message.seq;
      out.result(event.message, shown(event.message, paint));
    }
  });
}

type Events = ReturnType<Client["events"]>;

/** Acts once the stream is open, so that nothing said from then on is missed. */
async function listening(
  client: Client,
  chat: string,
  act: (events: Events) => Promise<void>,
): Promise<void> {
  // Asked first, so that a server that is not there, or a chat that is none, is said at once.
  await client.chat(chat);
  const stop = new AbortController();
  const { promise: opened, resolve } = withResolvers();
  const events = client.events({
    chat,
    signal: stop.signal,
    onState: (state) => (state === "open" ? resolve() : lost()),
  });
  const first = events.next();
  try {
    await Promise.race([opened, first]);
    await act(resumed(first, events));
  } finally {
    stop.abort();
  }
}

async function* resumed(first: ReturnType<Events["next"]>, events: Events): Events {
  const opening = await first;
  if (opening.done) return;
  yield opening.value;
  yield* events;
}

async function readAnswer(events: Events, answer: IngestAnswer, out: Output): Promise<void> {
  const paint = painter(out.colour);
  const rows: MessageRow[] = [];
  const timer = setTimeout(() => {
    process.stderr.write(`longhand: no answer yet. Ask why: longhand why ${answer.message_id}\n`);
  }, WAIT_MS);
  try {
    for await (const event of events) {
      if (
        (event.type === "message" || event.type === "host") &&
        event.message &&
        event.message.id !== answer.message_id
      ) {
        rows.push(event.message);
        if (!out.json) out.line(transcriptLine(event.message, paint));
      }
      if (event.type !== "outcome" || event.message_id !== answer.message_id) continue;
      if (event.outcome.outcome === "pending") continue;
      if (out.json) out.result({ ...answer, outcome: event.outcome, messages: rows }, "");
      if (whyNotAnswered(event.outcome) === null) return;
      throw new CommandFailed(4, plain(explainOutcome(event.outcome)));
    }
  } finally {
    clearTimeout(timer);
  }
}

/** Why nobody will answer, with what would help. */
async function whyQuiet(client: Client, chat: string, { message_id, reason }: IngestAnswer): Promise<string> {
  if (reason !== "no trigger") return plain(explainOutcome(await client.outcome(chat, message_id)));
  return `Not answered: ${whatCalls(await client.chat(chat))}`;
}

/** What comes through a pipe, without the line end that every program puts there. */
async function piped(): Promise<string> {
  if (process.stdin.isTTY) return "";
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks)
    .toString("utf8")
    .replace(/\r?\n$/, "");
}

function told(out: Output, answer: IngestAnswer): void {
  out.result(answer, `${answer.message_id} ${answer.admission}: ${answer.reason}`);
}

function me(name: string | undefined) {
  return {
    source: "terminal",
    sender_id: "tui-user",
    sender_display_name: name ?? userInfo().username,
    sender_type: "human",
    external_message_id: randomUUID(),
  } as const;
}

function lost(): void {
  process.stderr.write("longhand: the connection was lost; trying again …\n");
}

function withResolvers(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
