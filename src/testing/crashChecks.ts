import type { CallEnvelope, Delivery, LoggedEvent, MessageRow } from "../message/index.js";
import { CHAT, type Noted, OUTCOMES, type StoryName } from "./crashStory.js";

type StoredCall = { blocks: { id: string; kind: string; bytes: Uint8Array | null }[]; breaks: unknown[] };

/** The reads of a store that tell what became of a story. */
export type Reads = {
  inbound(jid: string, id: string): Promise<{ outcome: string; turn_id: string | null } | null>;
  messages(query: {
    chat_jid: string;
    after_seq: number;
    before_seq: null;
    limit: number;
    message_type: null;
    sender: null;
  }): Promise<MessageRow[]>;
  calls(query: { chat_jid: string; turn_id: null; after: null; limit: number }): Promise<CallEnvelope[]>;
  request(callId: string): Promise<StoredCall | null>;
  runningTurns(jid: string): Promise<unknown[]>;
  work(kind: "turn" | "delivery", lane: string, limit: number): Promise<unknown[]>;
  deliveries(query: {
    chat_jid: string;
    message_id: null;
    state: null;
    after: null;
    limit: number;
  }): Promise<Delivery[]>;
  events(query: { after: null; chat_jid: string; limit: number }): Promise<LoggedEvent[]>;
  spent(query: {
    accounts: { under: string };
    from: string;
    to: string;
  }): Promise<{ account: string; spending: Record<string, number> }[]>;
};

/** What a story left behind: its rows, and what was seen outside. */
export type Left = { story: StoryName; read: Reads; noted: readonly Noted[]; bodies: readonly string[] };

/** Everything that must not be so after a story, whatever happened to the process that told it. */
export async function violations(left: Left): Promise<string[]> {
  const { read } = left;
  const limit = 1000;
  const rows = await read.messages({
    chat_jid: CHAT,
    after_seq: 0,
    before_seq: null,
    limit,
    message_type: null,
    sender: null,
  });
  const calls = await read.calls({ chat_jid: CHAT, turn_id: null, after: null, limit });
  return [
    ...(await outcomeViolations(left)),
    ...answerViolations(rows),
    ...toolViolations(rows, calls, left.noted),
    ...cutViolations(rows, calls, left.noted),
    ...(await receiptViolations(left, calls)),
    ...(await deliveryViolations(left, rows)),
    ...(await remainders(read, calls)),
    ...(await spendingViolations(read, calls)),
  ];
}

async function outcomeViolations({ story, read, noted }: Left): Promise<string[]> {
  const found: string[] = [];
  const events = await read.events({ after: null, chat_jid: CHAT, limit: 5000 });
  for (const [key, allowed] of Object.entries(OUTCOMES[story])) {
    const ids = new Set(noted.flatMap((one) => (one.what === "accepted" && one.key === key ? [one.id] : [])));
    if (ids.size !== 1) found.push(`${key} was stored as ${ids.size} messages`);
    for (const id of ids) {
      const inbound = await read.inbound(CHAT, id);
      if (!inbound || !allowed.includes(inbound.outcome))
        found.push(`${key} came out as ${inbound?.outcome}`);
      const told = events.filter(({ type, refs }) => type === "outcome" && refs.message_id === id).length;
      if (told > 1) found.push(`${key} has ${told} outcomes`);
    }
  }
  return found;
}

/** The model puts the question's words into its answer: whole answers that are equal are one answer, given twice. */
function answerViolations(rows: readonly MessageRow[]): string[] {
  const whole = rows.filter((row) => row.sender === "bot" && row.metadata.cut !== true);
  const twice = whole.filter((row, at) => whole.findIndex(({ content }) => content === row.content) < at);
  const seqs = rows.map(({ seq }) => seq);
  return [
    ...twice.map(({ content }) => `answered twice: ${content}`),
    ...(seqs.every((seq, at) => seq === at + 1) ? [] : [`the rows are numbered ${seqs.join(" ")}`]),
  ];
}

const idOf = (row: MessageRow) => `${row.call_id} ${row.metadata.tool_use_id}`;

function toolViolations(
  rows: readonly MessageRow[],
  calls: readonly CallEnvelope[],
  noted: readonly Noted[],
): string[] {
  const found: string[] = [];
  for (const name of ["book", "shell"]) {
    const runs = noted.filter((one) => one.what === "ran" && one.name === name).length;
    if (runs > 1) found.push(`${name} ran ${runs} times`);
  }
  const results = rows.filter((row) => row.sender === "tool_result").map(idOf);
  const uses = rows.filter((row) => row.sender === "tool_use");
  for (const use of uses) {
    const count = results.filter((id) => id === idOf(use)).length;
    // After a `length` stop none of the tools runs: the last call may be half a call.
    const runs = calls.find(({ id }) => id === use.call_id)?.stop_reason === "tool_use";
    if (count !== (runs ? 1 : 0)) found.push(`tool call ${idOf(use)} has ${count} results`);
  }
  for (const one of noted) {
    if (one.what !== "done") continue;
    const result = rows.find(
      (row) => row.sender === "tool_result" && row.call_id === one.call && row.part === one.index,
    );
    if (!result || result.content.includes("interrupted"))
      found.push(`a tool was done, and its result is lost`);
  }
  const stray = results.filter((id) => !uses.some((use) => idOf(use) === id));
  return [...found, ...stray.map((id) => `a result without its call: ${id}`)];
}

/** What was saved of an answer before it was cut is there, and marked. */
function cutViolations(
  rows: readonly MessageRow[],
  calls: readonly CallEnvelope[],
  noted: readonly Noted[],
): string[] {
  const found: string[] = [];
  for (const call of calls) {
    const said = rows.filter((row) => row.call_id === call.id && row.sender === "bot");
    const text = said.map(({ content }) => content).join("");
    const isCut = call.status !== "ok";
    const saved = noted.findLast((one) => one.what === "partial" && one.call === call.id);
    if (isCut && saved?.what === "partial" && !text.startsWith(saved.text)) {
      found.push(`of the cut answer "${saved.text}" there is only "${text}"`);
    }
    if (said.some(({ metadata }) => (metadata.cut === true) !== isCut)) {
      found.push(`call ${call.status}: "${text}" is${isCut ? " not" : ""} marked as cut`);
    }
  }
  return found;
}

async function receiptViolations({ read, bodies }: Left, calls: readonly CallEnvelope[]): Promise<string[]> {
  const found: string[] = [];
  const receipts = new Set<string>();
  let before: string[] = [];
  for (const { id } of calls) {
    const stored = await read.request(id);
    if (!stored) {
      found.push(`call ${id} has no receipt`);
      continue;
    }
    receipts.add(Buffer.concat(stored.blocks.map(({ bytes }) => bytes ?? new Uint8Array())).toString());
    const blocks = stored.blocks.filter(({ kind }) => kind !== "frame").map((block) => block.id);
    const goesOn = before.every((block, at) => blocks[at] === block);
    if (!goesOn && stored.breaks.length === 0) found.push(`call ${id} breaks with the one before, unsaid`);
    before = blocks;
  }
  const unknown = bodies.filter((body) => !receipts.has(body)).length;
  return unknown === 0 ? found : [...found, `${unknown} requests left without a receipt`];
}

/** Equal keys are one message on the platform. */
async function deliveryViolations({ read, noted }: Left, rows: readonly MessageRow[]): Promise<string[]> {
  const found: string[] = [];
  const deliveries = await read.deliveries({
    chat_jid: CHAT,
    message_id: null,
    state: null,
    after: null,
    limit: 1000,
  });
  const sent = noted.flatMap((one) => (one.what === "sent" ? [one] : []));
  for (const { id, state, message_id } of deliveries) {
    if (state !== "sent") found.push(`delivery ${id} is ${state}`);
    if (!sent.some(({ key, message }) => key === id && message === message_id)) {
      found.push(`delivery ${id} never reached the platform`);
    }
  }
  for (const row of rows) {
    const keys = new Set(sent.filter(({ message }) => message === row.id).map(({ key }) => key));
    if (keys.size > 1) found.push(`"${row.content}" was sent as ${keys.size} messages`);
    if (row.sender === "bot" && row.metadata.cut !== true && keys.size === 0) {
      found.push(`the answer "${row.content}" was not sent`);
    }
  }
  return found;
}

async function remainders(read: Reads, calls: readonly CallEnvelope[]): Promise<string[]> {
  const turns = await read.runningTurns(CHAT);
  const running = calls.filter(({ status }) => status === "running");
  const work = [
    ...(await read.work("turn", `turn:${CHAT}`, 100)),
    ...(await read.work("delivery", "delivery:slack:C1#", 100)),
  ];
  return [
    ...(turns.length > 0 ? [`${turns.length} turns look as if they still ran`] : []),
    ...(running.length > 0 ? [`${running.length} calls look as if they still ran`] : []),
    ...(work.length > 0 ? [`${work.length} pieces of work are left: ${JSON.stringify(work)}`] : []),
  ];
}

async function spendingViolations(read: Reads, calls: readonly CallEnvelope[]): Promise<string[]> {
  const spent = await read.spent({ accounts: { under: "" }, from: "0000-01-01", to: "9999-12-31" });
  const negative = spent.filter(({ spending }) => Object.values(spending).some((amount) => amount < -1e-9));
  // A story may be told past midnight.
  const counted = spent
    .filter(({ account }) => account === `chat:${CHAT}`)
    .reduce((sum, { spending }) => sum + (spending.calls ?? 0), 0);
  return [
    ...negative.map(({ account, spending }) => `${account} spent ${JSON.stringify(spending)}`),
    ...(counted === calls.length ? [] : [`${counted} calls were paid, ${calls.length} were made`]),
  ];
}
