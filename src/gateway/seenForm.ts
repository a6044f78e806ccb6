import type { Transcriber, Transcript } from "../agent/index.js";
import { type AttachmentRow, clip, type MessageRow, mediaKind, sniffAudio } from "../message/index.js";
import { type Fact, NOTHING_SPENT } from "../store/store.js";
import { dayOf, limitsOf, overBudget, payerOf, unknownPrice } from "./budget.js";
import type { Hall } from "./hall.js";
import { sha256 } from "./rows.js";

/** What deciding what a model gets of a file works with. */
export type Seeing = Pick<Hall, "media" | "chats" | "log" | "clock" | "store" | "budget">;

/** What a model gets of an attachment: the row that says so, new bytes if there are any, and what it cost. */
export type SeenForm = { attachment: AttachmentRow; bytes: Uint8Array | null; facts: Fact[] };

/** A file, with the message it came with. */
type File = { row: MessageRow; attachment: AttachmentRow; bytes: Uint8Array };

const MOST_WORDS = 100_000;
const NO_WORDS = "(no words were heard)";

/**
 * Settles what models get of a file, once: a picture in the form every API takes; a sound as it is where the chat's model
 * hears it, else what a transcriber writes down of it; anything else as it is. The original stays beside it. Never throws.
 */
export async function seenForm(hall: Seeing, file: File, signal: AbortSignal): Promise<SeenForm> {
  switch (mediaKind(file.attachment.mime_type, file.bytes)) {
    case "image":
      return seenImage(hall, file, signal);
    case "audio":
      return seenSound(hall, file, signal);
    case null:
      return asItIs(file.attachment);
  }
}

function asItIs(attachment: AttachmentRow): SeenForm {
  const { sha256: own } = attachment;
  return {
    attachment: own === null ? attachment : { ...attachment, seen_sha256: own },
    bytes: null,
    facts: [],
  };
}

function unavailable(attachment: AttachmentRow, reason: string): SeenForm {
  return { attachment: { ...attachment, state: "unavailable", reason }, bytes: null, facts: [] };
}

async function seenImage(
  { media }: Seeing,
  { attachment, bytes }: File,
  signal: AbortSignal,
): Promise<SeenForm> {
  const picture = await media.picture(bytes, signal);
  if (!picture.ok) return unavailable(attachment, picture.why);
  if (picture.bytes === bytes) return asItIs(attachment);
  return {
    attachment: { ...attachment, seen_sha256: sha256(picture.bytes) },
    bytes: picture.bytes,
    facts: [],
  };
}

async function seenSound(hall: Seeing, file: File, signal: AbortSignal): Promise<SeenForm> {
  const { row, attachment, bytes } = file;
  const { transcriber } = hall.media;
  const mime = sniffAudio(bytes) ?? attachment.mime_type.toLowerCase();
  if (!transcriber || (await isHeard(hall, row.chat_jid, mime, bytes.length))) return asItIs(attachment);
  const unpaid = await whyUnpaid(hall, row, transcriber);
  if (unpaid !== null) return unavailable(attachment, `it is not transcribed: ${unpaid}`);
  const heard = await transcriber.transcribe({ mime, bytes }, signal);
  if (!heard.ok) {
    hall.log("warn", "attachment.not_transcribed", { message: row.id, why: heard.why });
    return unavailable(attachment, `it could not be transcribed: ${heard.why}`);
  }
  const transcript = clip(heard.text.trim(), MOST_WORDS) || NO_WORDS;
  const seen = asItIs({ ...attachment, state: "transcribed", transcript });
  return { ...seen, facts: await spentOn(hall, row, transcriber, heard) };
}

/** Does the model that answers in this chat take such a sound itself? */
async function isHeard({ media }: Seeing, chatJid: string, mime: string, size: number): Promise<boolean> {
  const audio = (await media.limitsIn(chatJid))?.audio;
  return audio?.types.includes(mime) === true && size <= audio.bytes;
}

/** Why a budget does not let this be transcribed; null where it does. */
async function whyUnpaid(
  hall: Seeing,
  { chat_jid, sender }: MessageRow,
  { name, isFree = false }: Transcriber,
): Promise<string | null> {
  const chat = await hall.chats.byJid(chat_jid);
  if (!chat) return null;
  const payer = await payerOf(hall, sender);
  const hasMoney = limitsOf(hall, chat, payer, hall.clock.now()).some(({ usd }) => usd !== null);
  if (hasMoney && !isFree) return unknownPrice(name);
  return overBudget(hall, chat, payer);
}

/** A transcription is a call of a model like any other, in the accounts of whoever sent the sound. */
async function spentOn(
  hall: Seeing,
  row: MessageRow,
  { name }: Transcriber,
  { usage }: Extract<Transcript, { ok: true }>,
): Promise<Fact[]> {
  const chat = await hall.chats.byJid(row.chat_jid);
  const now = hall.clock.now();
  const [ours, everybodys] = [dayOf(chat, now), dayOf(null, now)];
  const spending = {
    ...NOTHING_SPENT,
    calls: 1,
    unpriced: 1,
    input_tokens: usage?.inputTokens ?? 0,
    output_tokens: usage?.outputTokens ?? 0,
  };
  const seconds = usage?.seconds ?? null;
  hall.log("info", "attachment.transcribed", {
    message: row.id,
    model: name,
    ...(seconds === null ? {} : { seconds }),
  });
  return [
    { account: `chat:${row.chat_jid}`, day: ours },
    { account: await payerOf(hall, row.sender), day: ours },
    { account: `model:${name}`, day: everybodys },
    { account: "server", day: everybodys },
  ].map((where): Fact => ({ type: "spent", ...where, spending }));
}
