import {
  type Chat,
  contentTooLarge,
  errorsOf,
  type FieldError,
  type IngestAnswer,
  type IngestAttachment,
  type IngestMessageMetadata,
  InjectBody,
  type MessageRow,
  quietMs,
  SubmitBody,
} from "../message/index.js";
import type { CommitResult, Fact, Inbound, NewMessage, Work } from "../store/store.js";
import { type Admitted, admit } from "./admission.js";
import { admissionFacts } from "./admissionFacts.js";
import { type Origin, platformThread } from "./broadcast.js";
import { overBudget, payerOf, wasTold } from "./budget.js";
import { iso } from "./clock.js";
import type { Hall } from "./hall.js";
import { dedupeKey, newRow, sha256 } from "./rows.js";
import { separateThread, threadIn, turnLane } from "./turnLane.js";

/** What became of an attempt to bring a message in. Storage trouble is thrown as `StoreUnavailable`. */
export type IngestResult =
  | { status: "stored"; answer: IngestAnswer }
  | { status: "not_registered"; jid: string }
  | { status: "invalid"; errors: FieldError[] }
  | { status: "too_large"; why: string }
  | { status: "conflict"; why: string };

export type IngestOptions = {
  idempotencyKey?: string | null;
  /** The exact address a channel heard it at. */
  address?: string | null;
};

/** A message on its way in, whichever of the three ways it took. */
type Arrival = {
  way: "submit" | "inject" | "passive";
  role: "user" | "system";
  run: boolean;
  /** Mirror it to the chat's other addresses. */
  mirror: boolean;
  body: SubmitBody;
};

/** Someone spoke in the chat. The assistant may answer: admission decides. */
export async function submitChat(
  hall: Hall,
  jid: string,
  body: unknown,
  options: IngestOptions = {},
): Promise<IngestResult> {
  const parsed = SubmitBody.safeParse(body);
  if (!parsed.success) return { status: "invalid", errors: errorsOf(parsed.error) };
  return arrive(
    hall,
    jid,
    { way: "submit", role: "user", run: false, mirror: true, body: parsed.data },
    options,
  );
}

/** Overheard: kept, and never a reason to answer. */
export async function storePassiveMessage(
  hall: Hall,
  jid: string,
  body: unknown,
  options: IngestOptions = {},
): Promise<IngestResult> {
  const parsed = SubmitBody.safeParse(body);
  if (!parsed.success) return { status: "invalid", errors: errorsOf(parsed.error) };
  return arrive(
    hall,
    jid,
    { way: "passive", role: "user", run: false, mirror: true, body: parsed.data },
    options,
  );
}

/** A program adds a message. */
export async function injectMessage(
  hall: Hall,
  jid: string,
  body: unknown,
  options: IngestOptions = {},
): Promise<IngestResult> {
  const parsed = InjectBody.safeParse(body);
  if (!parsed.success) return { status: "invalid", errors: errorsOf(parsed.error) };
  const { role, run, notify } = parsed.data;
  return arrive(hall, jid, { way: "inject", role, run, mirror: notify, body: parsed.data }, options);
}

async function arrive(
  hall: Hall,
  jid: string,
  arrival: Arrival,
  options: IngestOptions,
): Promise<IngestResult> {
  const { body } = arrival;
  if (contentTooLarge(body.content))
    return { status: "too_large", why: "content is larger than 1 MiB of UTF-8" };
  if (body.msg_metadata.legacy_ingest !== undefined) {
    const reason = "only imports mark rows so: it hides the beginning of a text";
    return { status: "invalid", errors: [{ path: "msg_metadata.legacy_ingest", reason }] };
  }
  const chat = await hall.chats.byJid(jid);
  if (!chat) return { status: "not_registered", jid };
  const origin = originOf(body.msg_metadata, options.address ?? null);
  const echo = await echoOf(hall, jid, body.msg_metadata, origin);
  if (echo) return { status: "stored", answer: echo };
  const admitted = await admission(hall, chat, arrival, origin);
  const row = { ...rowOf(hall, chat, arrival, options), untaken: isForModel(admitted) };
  const facts = factsOf(hall, chat, arrival, row, admitted, origin);
  const committing = hall.store.commit({ facts });
  // A claim right behind it comes back together with it: the turn need not wait for another round.
  if (hall.store.inOrder) for (const work of dueWork(facts)) hall.arrivals.coming(work);
  const result = await committing;
  if (result.status === "committed") {
    for (const fact of facts) if (fact.type === "work") hall.arrivals.tell(fact.work);
  }
  return answerOf(hall, row, admitted, result);
}

/** What the message is. Money is asked for last, and only for what would run. */
async function admission(hall: Hall, chat: Chat, arrival: Arrival, origin: Origin): Promise<Admitted> {
  const { way, run, body } = arrival;
  const metadata = body.msg_metadata;
  const facts = await admissionFacts(hall, chat, {
    way,
    run,
    attached: (body.attachments?.length ?? 0) > 0,
    metadata,
    address: origin.address,
    threadOf: (said) => threadIn(chat, said),
  });
  const admitted = admit(body.content, metadata, chat, facts);
  if (admitted.admission !== "run") return admitted;
  const sender = metadata.sender_id;
  const isPersonal = chat.budget.usd_per_person_per_day !== null;
  const spent = await overBudget(hall, chat, isPersonal ? await payerOf(hall, sender) : `sender:${sender}`);
  if (spent === null) return admitted;
  const refused = admit(body.content, metadata, chat, { ...facts, overBudget: spent });
  return { ...refused, isFirst: !(await wasTold(hall, chat.jid, spent)) };
}

/** A command is told to the host, and what was refused reaches no model; what only lacked money may be read later. */
function isForModel({ admission, outcome }: Admitted): boolean {
  return admission !== "command" && outcome !== "ignored";
}

function rowOf(hall: Hall, chat: Chat, { body, role }: Arrival, options: IngestOptions): NewMessage {
  const metadata = body.msg_metadata;
  const now = hall.clock.now();
  const isDeploy = metadata.source === "deploy";
  return newRow({
    id: body.message_id ?? hall.clock.newId(),
    chat_jid: chat.jid,
    sender: role === "user" ? metadata.sender_id : isDeploy ? "deploy" : "system",
    sender_name: metadata.sender_display_name,
    content: body.content,
    timestamp: body.timestamp ? new Date(body.timestamp).toISOString() : iso(now),
    is_from_me: metadata.is_from_me === true || role === "system",
    message_type: role,
    metadata,
    dedupe_key: dedupeKey(metadata),
    idempotency: options.idempotencyKey
      ? { key: options.idempotencyKey, body_sha256: sha256(JSON.stringify(body)) }
      : null,
    untaken: true,
    thread_id: separateThread(chat, metadata.thread_id ?? null, originOf(metadata, options.address ?? null)),
  });
}

function factsOf(
  hall: Hall,
  chat: Chat,
  arrival: Arrival,
  row: NewMessage,
  admitted: Admitted,
  origin: Origin,
): Fact[] {
  const facts: Fact[] = arrival.mirror
    ? hall.userMessages.facts(row, chat, origin)
    : [{ type: "message", message: row }];
  for (const [index, attachment] of (arrival.body.attachments ?? []).entries()) {
    facts.push(attachmentFact(row, index, attachment));
  }
  const inbound: Inbound = {
    chat_jid: chat.jid,
    message_id: row.id,
    admission: admitted.admission,
    reason: admitted.reason,
    outcome: admitted.outcome,
    outcome_reason: admitted.outcome === "pending" ? "" : admitted.detail || admitted.reason,
    turn_id: null,
    received_at: hall.clock.now(),
  };
  facts.push({ type: "inbound", inbound });
  if (admitted.outcome === "pending") {
    // A command does not wait for the end of a burst: `stop` means now.
    const quiet = admitted.admission === "run" ? quietMs(chat, arrival.body.msg_metadata.source) : 0;
    facts.push({ type: "work", work: turnWork(hall, row, quiet) });
  }
  const news = newsOf(chat, admitted);
  if (news === null) return facts;
  return [
    ...facts,
    ...hall.hostMessages.facts(chat, news, { refused: admitted.detail }, null, platformThread(row)),
  ];
}

/** What people are told at once about a message that gets no answer. */
function newsOf(chat: Chat, { reason, detail, isFirst }: Admitted): string | null {
  if (!isFirst) return null;
  if (reason === "over_budget") return `Not answered: ${detail}.`;
  if (reason !== "loop_guard") return null;
  return `Bots wrote ${chat.loop_limit} messages in a row here; they are not answered until a person writes.`;
}

function dueWork(facts: readonly Fact[]): Work[] {
  return facts.flatMap((fact) => (fact.type === "work" && fact.work.run_at === 0 ? [fact.work] : []));
}

function turnWork(hall: Hall, row: NewMessage, quiet: number): Work {
  return {
    id: hall.clock.newId(),
    kind: "turn",
    lane: turnLane(row.chat_jid, row.thread_id),
    chat_jid: row.chat_jid,
    ref: row.id,
    run_at: quiet === 0 ? 0 : hall.clock.steady() + quiet,
    attempts: 0,
  };
}

export const NOT_FETCHED = "not fetched yet";

/** A message as it would be stored, for looking at what a model would see of it. */
export type Unstored = { message: MessageRow; threadId: string; bytes: Map<string, Uint8Array> };

export function unstoredMessage(hall: Hall, chat: Chat, body: SubmitBody): Unstored {
  const arrival: Arrival = { way: "submit", role: "user", run: false, mirror: false, body };
  const {
    dedupe_key: _dedupe,
    idempotency: _key,
    untaken: _untaken,
    thread_id,
    ...row
  } = rowOf(hall, chat, arrival, {});
  const attached = (body.attachments ?? []).map((attachment, index) =>
    attachmentFact(row, index, attachment),
  );
  const bytes = new Map(
    attached.flatMap((fact) =>
      fact.bytes && fact.attachment.sha256 ? [[fact.attachment.sha256, fact.bytes]] : [],
    ),
  );
  const attachments = attached.map((fact) => fact.attachment);
  const message = { ...row, seq: 0, attachments, revision: 0, edited_at: null, deleted_at: null };
  return { message, threadId: thread_id, bytes };
}

function attachmentFact(
  row: Pick<NewMessage, "chat_jid" | "id">,
  index: number,
  attachment: IngestAttachment,
): Extract<Fact, { type: "attachment" }> {
  const { name, mime_type } = attachment;
  const at = { type: "attachment", chat_jid: row.chat_jid, message_id: row.id, index } as const;
  if (attachment.data === undefined) {
    const url = attachment.url ?? null;
    return {
      ...at,
      attachment: { name, mime_type, size: 0, sha256: null, state: "unavailable", reason: NOT_FETCHED, url },
      bytes: null,
    };
  }
  const bytes = new Uint8Array(Buffer.from(attachment.data, "base64"));
  return {
    ...at,
    attachment: {
      name,
      mime_type,
      size: bytes.length,
      sha256: sha256(bytes),
      state: "delivered",
      reason: null,
      url: null,
    },
    bytes,
  };
}

function answerOf(hall: Hall, row: NewMessage, admitted: Admitted, result: CommitResult): IngestResult {
  switch (result.status) {
    case "committed": {
      hall.log("info", "message.accepted", {
        chat: row.chat_jid,
        message: row.id,
        trace: row.id,
        admission: admitted.admission,
      });
      const seq = result.seqs[row.id] ?? 0;
      return stored({
        message_id: row.id,
        chat_jid: row.chat_jid,
        seq,
        duplicate: false,
        admission: admitted.admission,
        reason: admitted.reason,
      });
    }
    case "duplicate": {
      const { message, inbound } = result;
      if (!inbound)
        return {
          status: "conflict",
          why: `message_id ${message.id} belongs to a message that did not come in this way`,
        };
      return stored({
        message_id: message.id,
        chat_jid: message.chat_jid,
        seq: message.seq,
        duplicate: true,
        admission: inbound.admission,
        reason: inbound.reason,
      });
    }
    case "conflict":
      return { status: "conflict", why: result.why };
    case "fenced":
      return { status: "conflict", why: `lane ${result.lane} is held elsewhere` };
  }
}

const stored = (answer: IngestAnswer): IngestResult => ({ status: "stored", answer });

function originOf(metadata: IngestMessageMetadata, address: string | null): Origin {
  const place = metadata.channel_external_id ?? null;
  return {
    source: metadata.source,
    address: address ?? (place === null ? null : `${metadata.source}:${place}`),
  };
}

/** Our own delivery, come back: answered like the message it was, and not stored again. */
async function echoOf(
  hall: Hall,
  jid: string,
  metadata: IngestMessageMetadata,
  origin: Origin,
): Promise<IngestAnswer | null> {
  const external = metadata.external_message_id ?? null;
  if (external === null || origin.address === null || !hall.channels.has(origin.source)) return null;
  const delivery = await hall.store.read.delivered(origin.address, external);
  if (delivery?.chat_jid !== jid) return null;
  const message = await hall.store.read.message(jid, delivery.message_id);
  if (!message) return null;
  const { id, chat_jid, seq } = message;
  return { message_id: id, chat_jid, seq, duplicate: true, admission: "ignored", reason: "echo" };
}
