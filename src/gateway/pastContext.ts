import { encode, type ModelRequest, type ToolDefinition } from "../agent/index.js";
import { type Notice, noticeOf } from "../context/index.js";
import { type CallEnvelope, type Change, changesBetween, type Chat, type LeftOut } from "../message/index.js";
import type { StoredRequest } from "../store/store.js";
import type { Hall } from "./hall.js";
import { modelOfCall } from "./models.js";
import type { KeptReceipt } from "./receipts.js";
import { sha256 } from "./rows.js";
import { readWindow, requestOf } from "./window.js";

export type PastContext =
  | {
      ok: true;
      request: ModelRequest;
      leftOut: LeftOut[];
      head: string | null;
      /** How it differs from what was sent then; none: not in a byte. */
      differences: string[];
    }
  | { ok: false; why: string };

type StoredBlock = StoredRequest["blocks"][number];
type ReadBlock = StoredBlock & { text: string };

const DIFFERENCES_TOLD = 20;

/**
 * The context of a past call, made anew by the one assembler: the path as it stood, the prompt and the notices as the
 * receipt has them. What was deleted since is left out, as of every later call. Spelled for the first model again and
 * compared with the receipt, it shows by itself whether it is the same.
 */
export async function pastContext(hall: Hall, chat: Chat, kept: KeptReceipt): Promise<PastContext> {
  const { call, request: sent } = kept;
  const head = call.head === undefined ? await lastEntry(hall, call, sent) : call.head;
  if (head === undefined) return { ok: false, why: `the place of call ${call.id} in its chat is not known` };
  const blocks = sent.blocks.map((block): ReadBlock => ({ ...block, text: textOf(block) }));
  const then: Chat = {
    ...chat,
    system_prompt: promptOf(blocks) ?? chat.system_prompt,
    notices: noticesPlace(blocks),
  };
  const window = await readWindow(hall, then, head);
  const made = requestOf(hall, then, window, noticesOf(blocks), call.turn_id ?? call.id);
  const request = { ...made.request, tools: toolsOf(made.request, blocks) };
  const differences = await differencesTo(hall, call, blocks, { ...made, request });
  return { ok: true, request, leftOut: made.leftOut, head, differences };
}

/** Of a receipt that does not say how far it was read: the entry of the newest message in it. */
async function lastEntry(
  hall: Hall,
  { chat_jid }: CallEnvelope,
  { blocks }: StoredRequest,
): Promise<string | undefined> {
  const ids = blocks.flatMap(({ kind, sources }) =>
    kind === "message" ? sources.filter(({ type }) => type === "message").map(({ id }) => id) : [],
  );
  const last = ids.at(-1);
  return last === undefined ? undefined : (await hall.store.read.entryOf(chat_jid, last))?.id;
}

function textOf({ bytes }: StoredBlock): string {
  return bytes === null ? "" : new TextDecoder().decode(bytes);
}

function promptOf(blocks: readonly ReadBlock[]): string | null {
  const prompt = blocks.find(({ kind, sources }) => kind === "system" && isFrom(sources, "prompt"));
  return prompt ? wordsIn(prompt.text, () => true) : null;
}

function noticesOf(blocks: readonly ReadBlock[]): Notice[] {
  return blocks.flatMap(({ kind, sources, text }) => {
    if (kind !== "notice") return [];
    const id = sources.find(({ type }) => type === "notice")?.id ?? "";
    const words = wordsIn(text, (found) => noticeOf(id, found) !== null);
    return (words !== null && noticeOf(id, words)) || [];
  });
}

/** Notices at the tail stand behind a message; those of the system prompt, behind the prompt. */
function noticesPlace(blocks: readonly ReadBlock[]): Chat["notices"] {
  const spoken = blocks.filter(({ kind }) => kind !== "frame");
  const at = spoken.findIndex(({ kind }) => kind === "notice");
  return spoken.slice(0, Math.max(0, at)).some(({ kind }) => kind === "message") ? "tail" : "system";
}

/** The tools it was told of, as far as they are still there. */
function toolsOf({ tools = [] }: ModelRequest, blocks: readonly ReadBlock[]): ToolDefinition[] {
  const named = new Set(
    blocks.flatMap(({ kind, sources }) => (kind === "tools" ? sources.map(({ id }) => id) : [])),
  );
  return tools.filter(({ name }) => named.has(name));
}

function isFrom(sources: StoredBlock["sources"], type: string): boolean {
  return sources.some((source) => source.type === type);
}

/** The text a block says: every API writes it as a JSON string, whole, within its quotes, or somewhere in an object. */
function wordsIn(text: string, isIt: (words: string) => boolean): string | null {
  const value = parsed(text) ?? parsed(`"${text}"`);
  return stringIn(value, isIt);
}

function stringIn(value: unknown, isIt: (words: string) => boolean): string | null {
  if (typeof value === "string") return isIt(value) ? value : null;
  if (typeof value !== "object" || value === null) return null;
  for (const inner of Object.values(value)) {
    const found = stringIn(inner, isIt);
    if (found !== null) return found;
  }
  return null;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function differencesTo(
  hall: Hall,
  call: CallEnvelope,
  sent: readonly ReadBlock[],
  { request, leftOut }: { request: ModelRequest; leftOut: LeftOut[] },
): Promise<string[]> {
  const found = await modelOfCall(hall, call);
  if (!found.ok) {
    return [
      "the first model cannot be used here now, so the context could not be compared with what it was sent",
    ];
  }
  const encoded = encode(found.model, request);
  if (sha256(encoded.body) === call.request_sha256) return [];
  const made = encoded.blocks.map((block) => ({ ...block, id: "", size: Buffer.byteLength(block.text) }));
  const changes = changesBetween(sent, made).map((change) => inWords(change, leftOut));
  if (changes.length === 0) return ["it is spelled differently by now"];
  const told = changes.slice(0, DIFFERENCES_TOLD);
  return changes.length > told.length ? [...told, `and ${changes.length - told.length} more`] : told;
}

function inWords(
  { change, before, after }: Change<Omit<ReadBlock, "bytes">>,
  leftOut: readonly LeftOut[],
): string {
  const block = after ?? before;
  const what = block.sources.map(({ type, id }) => `${type} ${id}`).join(", ") || block.kind;
  const gone = leftOut.find(({ message_id }) => before?.sources.some(({ id }) => id === message_id));
  switch (change) {
    case "added":
      return `there now, and not then: ${what}`;
    case "removed":
      return gone ? `left out now: ${what} (${gone.reason})` : `there then, and not now: ${what}`;
    case "changed":
      return `reads differently now: ${what}`;
    case "moved":
      return `stands elsewhere now: ${what}`;
  }
}
