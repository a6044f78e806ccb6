import type { EncodedBlock, EncodedRequest, PreparedCall } from "../agent/index.js";
import { blockId, firstBreak, sharedEntries } from "../context/index.js";
import {
  type AssistantMessage,
  type Block,
  type Call,
  type CallEnvelope,
  type CallPurpose,
  callEndOf,
  type LeftOut,
} from "../message/index.js";
import type { Fact, RequestBlock, Store, StoredRequest } from "../store/store.js";
import { iso } from "./clock.js";
import type { Hall } from "./hall.js";
import { sha256 } from "./rows.js";

/** The request before this one in the same thread: new receipts say "as that one up to here, then these". */
export type PreviousRequest = { call: Pick<CallEnvelope, "id" | "provider" | "model">; blocks: Block[] };

/** A model as people call it. */
export function modelName({ provider, model }: Pick<CallEnvelope, "provider" | "model">): string {
  return `${provider}/${model}`;
}

/** Bytes of a request as blocks with ids, in order. */
export async function blocksOf(
  hall: { store: { read: Pick<Store["read"], "blockKey"> } },
  chatJid: string,
  encoded: EncodedRequest,
): Promise<RequestBlock[]> {
  const key = await hall.store.read.blockKey(chatJid);
  if (!key) throw new Error(`chat ${chatJid} has no block key`);
  /** The JSON between blocks is the same few texts again and again. */
  const frames = new Map<string, RequestBlock>();
  return encoded.blocks.map((block) => {
    const known = block.kind === "frame" ? frames.get(block.text) : hashedBefore(block, key);
    if (known) return known;
    const made = requestBlock(block, key);
    if (block.kind === "frame") frames.set(block.text, made);
    else hashed.set(block, { key, made });
    return made;
  });
}

/** Blocks that a later request has again, with their bytes and the id they have under a chat's key. */
const hashed = new WeakMap<EncodedBlock, { key: Uint8Array; made: RequestBlock }>();

function hashedBefore(block: EncodedBlock, key: Uint8Array): RequestBlock | undefined {
  const before = hashed.get(block);
  return before && Buffer.compare(before.key, key) === 0 ? before.made : undefined;
}

function requestBlock({ kind, sources, text }: EncodedBlock, key: Uint8Array): RequestBlock {
  const bytes = new TextEncoder().encode(text);
  return { id: blockId(key, bytes), kind, size: bytes.length, sources, bytes };
}

export type ReceiptInput = {
  callId: string;
  chatJid: string;
  turnId: string | null;
  call: Omit<PreparedCall, "id">;
  /** `turn` unless told. */
  purpose?: CallPurpose;
  blocks: RequestBlock[];
  leftOut: LeftOut[];
  previous: PreviousRequest | null;
  /** More of what the receipt tells. */
  about?: Pick<CallEnvelope, "head" | "replay_of">;
};

/** The receipt of a call about to be made: the exact bytes, before the first of them leaves. */
export function receiptFact(hall: Hall, input: ReceiptInput): Extract<Fact, { type: "call_started" }> {
  const { call, blocks, previous } = input;
  const shared = previous ? sharedEntries(previous.blocks, blocks) : 0;
  const { provider, id: model } = call.model;
  return {
    type: "call_started",
    call: {
      id: input.callId,
      chat_jid: input.chatJid,
      turn_id: input.turnId,
      attempt: call.attempt,
      purpose: input.purpose ?? "turn",
      provider: call.model.provider,
      api: call.model.api,
      model: call.model.id,
      status: "running",
      error_kind: null,
      error: null,
      stop_reason: null,
      started_at: iso(hall.clock.now()),
      first_token_ms: null,
      duration_ms: null,
      usage: null,
      cost: null,
      request_sha256: sha256(call.encoded.body),
      request_size: Buffer.byteLength(call.encoded.body),
      redacted: false,
      ...input.about,
    },
    request: {
      base: previous && shared > 0 ? { call_id: previous.call.id, count: shared } : null,
      blocks: blocks.slice(shared),
      left_out: input.leftOut,
      breaks: previous
        ? firstBreak(previous.blocks, blocks, {
            left_out: input.leftOut,
            models: { previous: modelName(previous.call), next: modelName({ provider, model }) },
            since: previous.call.id,
          })
        : [],
    },
  };
}

/** The envelope once the answer is there, or has failed. */
export function endedCall(
  started: CallEnvelope,
  message: AssistantMessage,
  firstTokenAt: number | null,
  now: number,
): CallEnvelope {
  const startedAt = Date.parse(started.started_at);
  return {
    ...started,
    ...callEndOf(message),
    first_token_ms: firstTokenAt === null ? null : firstTokenAt - startedAt,
    duration_ms: now - startedAt,
  };
}

/** A receipt as the API gives it. */
export function callOf(envelope: CallEnvelope, request: StoredRequest | null): Call {
  return {
    ...envelope,
    blocks: request?.blocks.map(({ id, kind, size, sources }) => ({ id, kind, size, sources })) ?? [],
    left_out: request?.left_out ?? [],
    breaks: request?.breaks ?? [],
  };
}

/** The exact bytes of a request; null when some of them were erased. */
export function requestBytes(request: StoredRequest): Uint8Array | null {
  const pieces = request.blocks.map((block) => block.bytes);
  if (pieces.some((bytes) => bytes === null)) return null;
  return Buffer.concat(pieces.flatMap((bytes) => (bytes ? [bytes] : [])));
}

/** A receipt whose request is kept. */
export type KeptReceipt = { ok: true; call: CallEnvelope; request: StoredRequest };
/** `gone`: there was one, and it is kept no longer. */
export type ReceiptGone = { ok: false; kind: "unknown" | "gone"; why: string };

/** A receipt with its request, or why there is none. */
export async function keptReceipt({ store }: Hall, id: string): Promise<KeptReceipt | ReceiptGone> {
  const call = await store.read.call(id);
  if (!call) return { ok: false, kind: "unknown", why: `there is no call ${id}` };
  const expired = expiryOf(call);
  if (expired !== null) return { ok: false, kind: "gone", why: expired };
  const request = await store.read.request(id);
  return request
    ? { ok: true, call, request }
    : { ok: false, kind: "unknown", why: `there is no call ${id}` };
}

/** Since when a request is kept no longer, and why; null while it is. */
export function expiryOf({ id, expired }: CallEnvelope): string | null {
  return expired
    ? `the request of call ${id} is kept no longer since ${expired.at}: ${expired.reason}`
    : null;
}
