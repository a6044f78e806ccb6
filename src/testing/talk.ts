import type { IngestAnswer, MessageRow, Outcome } from "../message/index.js";

/** What a test needs of a gateway to talk to it. */
type Talked = {
  submitChat(
    jid: string,
    body: unknown,
  ): Promise<{ status: "stored"; answer: IngestAnswer } | { status: string }>;
  outcome(jid: string, id: string): Promise<Outcome | null>;
  getMessagesSince(jid: string, since: number): Promise<MessageRow[]>;
};

export type Speaker = { sender_id?: string; sender_display_name?: string } & Record<string, unknown>;

export const OLIVIA: Speaker = { sender_id: "slack:U1", sender_display_name: "Olivia" };
export const ASH: Speaker = { sender_id: "slack:U2", sender_display_name: "Ash" };

const PATIENCE_MS = 20_000;

/** Wait until something is true, and give it. */
export async function until<T>(
  look: () => Promise<T | null | undefined | false> | T | null | undefined | false,
): Promise<T> {
  const end = Date.now() + PATIENCE_MS;
  while (Date.now() < end) {
    const found = await look();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  throw new Error(`it never came true: ${look}`);
}

/** People talking in one chat. */
export class Talk {
  constructor(
    private readonly gateway: Talked,
    readonly chat: string,
  ) {}

  /** Say something; the message's id once it is accepted. */
  async say(content: string, speaker: Speaker = OLIVIA): Promise<string> {
    const msg_metadata = { source: "slack", sender_type: "human", ...OLIVIA, ...speaker };
    const result = await this.gateway.submitChat(this.chat, { content, msg_metadata });
    if (!("answer" in result)) throw new Error(JSON.stringify(result));
    return result.answer.message_id;
  }

  /** What became of a message, once something has. */
  ended(id: string): Promise<Outcome> {
    return until(async () => {
      const outcome = await this.gateway.outcome(this.chat, id);
      return outcome && outcome.outcome !== "pending" ? outcome : null;
    });
  }

  /** The same in one word. */
  async outcome(id: string): Promise<string> {
    return (await this.ended(id)).outcome;
  }

  /** What became of a message so far. */
  async soFar(id: string): Promise<string | undefined> {
    return (await this.gateway.outcome(this.chat, id))?.outcome;
  }

  async rows(sender?: string): Promise<MessageRow[]> {
    const rows = await this.gateway.getMessagesSince(this.chat, 0);
    return sender === undefined ? rows : rows.filter((row) => row.sender === sender);
  }

  /** What the assistant said. */
  async answers(): Promise<string[]> {
    return (await this.rows("bot")).map((row) => row.content);
  }

  /** What people were told by the host. */
  async news(): Promise<string[]> {
    return (await this.rows("host")).map((row) => row.content);
  }

  /** Say a command and give what the host answers. */
  async command(content: string, speaker: Speaker = OLIVIA): Promise<string> {
    const id = await this.say(content, speaker);
    await this.ended(id);
    const rows = await this.rows("host");
    return rows.findLast((row) => row.metadata.answers === id)?.content ?? "";
  }
}
