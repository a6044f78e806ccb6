import { audienceOf } from "../../message/audience.js";
import type { MessageRow } from "../../message/row.js";
import { ApiProblem, type Submission } from "../client/index.js";
import { catchUp, goToEnd } from "./reading.js";
import { randomId, session } from "./session.js";
import { explain, type Outgoing, type Page } from "./state.js";

export type Attachment = { name: string; mime_type: string; data: string };

/** What this page would submit for these words: exactly as typed, by whoever sits here. */
export function submissionOf(
  content: string,
  attachments: Attachment[],
  key: string,
  replyTo: string | null = null,
): Submission {
  const { id, name } = session.speaker();
  return {
    content,
    msg_metadata: {
      source: "web",
      sender_id: id,
      sender_display_name: name,
      sender_type: "human",
      external_message_id: key,
      ...(replyTo === null ? {} : { reply_to: replyTo }),
    },
    ...(attachments.length > 0 ? { attachments } : {}),
  };
}

/** Says something in the open chat. It stands on the page at once, and is stored when it loses its paleness. */
export async function say(
  page: Page,
  content: string,
  attachments: Attachment[],
  replyTo: string | null = null,
): Promise<void> {
  const jid = page.state().open;
  if (jid === null) return;
  const key = randomId();
  const submission = submissionOf(content, attachments, key, replyTo);
  const outgoing: Outgoing = { key, jid, submission, at: new Date().toISOString(), trouble: null };
  page.set({ outgoing: [...page.state().outgoing, outgoing] });
  void goToEnd(page);
  await send(page, outgoing);
}

/** A branch begins after somebody's words, not amid thoughts and tools. */
export function canForkFrom(row: MessageRow): boolean {
  const { hand } = audienceOf(row).shown;
  return (hand === "person" || hand === "assistant") && row.deleted_at === null;
}

/** Sends again what could not be sent. The key is the same, so it cannot be said twice. */
export async function send(page: Page, outgoing: Outgoing): Promise<void> {
  change(page, outgoing.key, { trouble: null });
  try {
    await page.client.submit(outgoing.jid, outgoing.submission);
  } catch (error) {
    const willRetry = !(error instanceof ApiProblem) || error.status === 503 || error.status === 429;
    return change(page, outgoing.key, { trouble: { why: explain(page, error), willRetry } });
  }
  // The row comes with the event stream; without one it is fetched, so that it stands there either way.
  if (page.state().open !== outgoing.jid) takeBack(page, outgoing.key);
  else if (page.state().link !== "open") await catchUp(page);
}

/** Tries again whatever failed only because the server was away. */
export function resend(page: Page): void {
  for (const outgoing of page.state().outgoing) {
    if (outgoing.trouble?.willRetry) void send(page, outgoing);
  }
}

export function takeBack(page: Page, key: string): void {
  page.set({ outgoing: page.state().outgoing.filter((other) => other.key !== key) });
}

export async function stopTurn(page: Page): Promise<void> {
  const jid = page.state().open;
  if (jid === null) return;
  // A personal link may speak, not operate: the word does the same.
  if (session.speaker().isPerson) return say(page, "stop", []);
  try {
    await page.client.stop(jid);
  } catch (error) {
    page.set({ trouble: explain(page, error) });
  }
}

function change(page: Page, key: string, with_: Partial<Outgoing>): void {
  page.set({
    outgoing: page.state().outgoing.map((other) => (other.key === key ? { ...other, ...with_ } : other)),
  });
}
