import {
  type Block,
  type Call,
  type Chat,
  explainOutcome,
  type Outcome,
  senderKind,
} from "../../message/index.js";
import { ApiProblem, type Client } from "../client/index.js";
import type { Connection } from "./connect.js";
import { CommandFailed, columns, type Output } from "./output.js";
import { plain } from "./plain.js";

/** What the model saw: a call's receipt, or its exact bytes. */
export async function call(
  { client }: Connection,
  id: string,
  out: Output,
  options: { raw: boolean },
): Promise<void> {
  if (options.raw) {
    process.stdout.write(await client.requestBytes(id));
    return;
  }
  const receipt = await client.call(id);
  if (out.json) return out.result(receipt, "");
  const { bytes, gone } = await requestOrWhyNot(client, id);
  out.line(header(receipt));
  out.line("");
  out.line(blockTable(receipt.blocks, bytes));
  for (const { message_id, reason } of receipt.left_out) out.line(`left out  ${message_id}  ${reason}`);
  for (const { block, reason } of receipt.breaks) out.line(`break     at block ${block}: ${reason}`);
  out.line("");
  out.line(gone ?? `exact bytes: longhand call ${id} --raw`);
}

/** A request that is kept no longer is no reason not to tell the rest. */
async function requestOrWhyNot(
  client: Client,
  id: string,
): Promise<{ bytes: Uint8Array; gone: string | null }> {
  try {
    return { bytes: await client.requestBytes(id), gone: null };
  } catch (error) {
    if (!(error instanceof ApiProblem && error.status === 410)) throw error;
    return { bytes: new Uint8Array(), gone: error.detail };
  }
}

/** The calls of a chat. */
export async function calls({ client }: Connection, chat: string, out: Output): Promise<void> {
  const { calls: found } = await client.calls(chat, { limit: 500 });
  if (out.json) {
    for (const each of found) out.result(each, "");
    return;
  }
  if (found.length === 0) {
    return out.line(`No calls yet in ${chat}. Say something: longhand send --chat ${chat} hello`);
  }
  out.line(
    columns(
      found.map((each) => [
        each.id,
        `${each.provider}/${each.model}`,
        each.purpose === "turn" ? each.status : `${each.status} (${each.purpose})`,
        `${each.request_size} bytes`,
        each.started_at,
      ]),
    ),
  );
}

/** What would be sent now. */
export async function context({ client }: Connection, chat: string, out: Output): Promise<void> {
  const preview = await client.context(chat);
  if (out.json) return out.result(preview, "");
  out.line(blockTable(preview.blocks, new TextEncoder().encode(preview.body)));
  for (const { message_id, reason } of preview.left_out) out.line(`left out  ${message_id}  ${reason}`);
}

/** Why a message was answered, or why not. Without an id: the last one that was said. */
export async function why(
  { client }: Connection,
  asked: string | undefined,
  out: Output,
  chat: string | undefined,
): Promise<void> {
  const jids = chat ? [chat] : (await client.chats({ limit: 500 })).chats.map((known) => known.jid);
  const found =
    asked === undefined ? await lastSaid(client, chat ?? "home") : await said(client, jids, asked);
  if (!found) {
    const what =
      asked === undefined
        ? `Nothing was said in ${plain(chat ?? "home")} yet`
        : `No inbound message ${plain(asked)} was found`;
    throw new CommandFailed(4, `${what}. Ids are in: longhand log --ids`);
  }
  const { jid, outcome } = found;
  const hint = outcome.reason === "no trigger" ? whatCalls(await client.chat(jid)) : null;
  out.result(outcome, explain(jid, outcome, hint));
}

type Said = { jid: string; outcome: Outcome };

/** By its id in any of these chats; a number is looked for in the only one, or in home. */
async function said(client: Client, jids: readonly string[], asked: string): Promise<Said | null> {
  for (const jid of jids) {
    const outcome = await outcomeOf(client, jid, asked);
    if (outcome) return { jid, outcome };
  }
  const seq = /^#?(\d{1,15})$/.exec(asked)?.[1];
  if (seq === undefined) return null;
  const jid = jids.length === 1 ? (jids[0] ?? "home") : "home";
  const { messages } = await client.messages(jid, { before_seq: Number(seq) + 1, limit: 1 });
  const row = messages.find((message) => message.seq === Number(seq));
  const outcome = row ? await outcomeOf(client, jid, row.id) : null;
  return outcome && { jid, outcome };
}

/** The newest message that came in, looking back as far as a long turn may reach. */
async function lastSaid(client: Client, jid: string): Promise<Said | null> {
  const { messages } = await client.messages(jid, { before_seq: Number.MAX_SAFE_INTEGER, limit: 500 });
  for (const row of messages.reverse()) {
    const outcome = senderKind(row) === "person" ? await outcomeOf(client, jid, row.id) : null;
    if (outcome) return { jid, outcome };
  }
  return null;
}

async function outcomeOf(client: Client, jid: string, id: string): Promise<Outcome | null> {
  try {
    return await client.outcome(jid, id);
  } catch (error) {
    // A chat that is none is said by its own name; any other 404 is a message that is not here.
    if (error instanceof ApiProblem && error.status === 404 && error.detail !== "There is no such chat.")
      return null;
    throw error;
  }
}

/** What would make the assistant of a chat answer. */
export function whatCalls({ assistant_name, trigger }: Chat): string {
  const name = `@${plain(assistant_name)}`;
  const pattern = typeof trigger === "object" ? `, or matches ${plain(trigger.pattern)}` : "";
  return `here the assistant answers when a message begins with ${name}${pattern} (the name counts only at the start).`;
}

function explain(chat: string, outcome: Outcome, hint: string | null): string {
  const lines = [
    `${outcome.outcome}: ${plain(outcome.reason)}`,
    hint === null ? plain(explainOutcome(outcome)) : `It was not answered: ${hint}`,
    `chat  ${chat}`,
  ];
  lines.push(`trace ${outcome.trace_id}`);
  if (outcome.turn_id) lines.push(`turn  ${outcome.turn_id}`);
  for (const id of outcome.call_ids) lines.push(`call  ${id}   (longhand call ${id})`);
  for (const delivery of outcome.deliveries) {
    const error = delivery.last_error ? `: ${plain(delivery.last_error)}` : "";
    lines.push(`sent  ${delivery.address} ${delivery.state} after ${delivery.attempts} tries${error}`);
  }
  return lines.join("\n");
}

/** What was used, and what it cost. */
export async function usage(
  { client }: Connection,
  out: Output,
  ask: { by: "chat" | "person" | "model" | "day"; from?: string; to?: string },
): Promise<void> {
  const { usage: lines } = await client.usage(ask);
  if (lines.length === 0) return out.result(lines, "Nothing has been used yet.");
  const rows = lines.map((line) => [
    plain(line.key),
    callCount(line.calls),
    `${line.input_tokens + line.cache_read_tokens + line.cache_write_tokens} in`,
    `${line.output_tokens} out`,
    `$${line.usd.toFixed(4)}`,
    line.unpriced === 0 ? "" : `(${callCount(line.unpriced)} of unknown price not counted)`,
  ]);
  out.result(lines, columns(rows));
}

function callCount(count: number): string {
  return `${count} ${count === 1 ? "call" : "calls"}`;
}

function header(receipt: Call): string {
  const { usage, cost } = receipt;
  const tokens = usage
    ? `${usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens} tokens in, ${usage.output_tokens} out`
    : "no usage";
  const money = cost ? `$${cost.total.toFixed(4)}` : "cost unknown";
  return [
    `${receipt.provider}/${receipt.model} · ${receipt.status}${receipt.stop_reason ? ` (${receipt.stop_reason})` : ""} · ${tokens} · ${money}`,
    `${receipt.started_at} · ${receipt.duration_ms ?? "?"} ms · ${receipt.request_size} bytes · sha256 ${receipt.request_sha256}`,
    ...(receipt.error ? [`error: ${plain(receipt.error)}`] : []),
  ].join("\n");
}

/** Blocks with the words in them; the JSON in between is left to `--raw`. */
function blockTable(blocks: readonly Block[], bytes: Uint8Array): string {
  const decoder = new TextDecoder();
  let at = 0;
  const rows = blocks.flatMap((block) => {
    const text = decoder.decode(bytes.subarray(at, at + block.size));
    at += block.size;
    if (block.kind === "frame") return [];
    const sources = block.sources.map((source) => `${source.type} ${source.id}`).join(", ");
    return [[block.kind, String(block.size), clip(plain(text), 70), sources]];
  });
  return columns(rows);
}

function clip(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}
