import { setImmediate } from "node:timers/promises";
import type { Label } from "../context/index.js";
import type { Work } from "../store/store.js";
import type { Hall } from "./hall.js";
import { threadOf } from "./turnLane.js";
import { lastSpokenAt } from "./take.js";

/**
 * What a turn has to know before it starts. It may be out of date: whoever uses it has the store check that the head is
 * still there, and that no name was given away meanwhile.
 */
export type Foreseen = { head: string | null; spokenAt: string | null; labels: Label[] };

/** More than this are not waited for at one time; the others are read when their turn starts. */
const MOST = 256;

/**
 * Reads what a turn will need while the message that asks for it is on its way to the disk, when this thread has nothing
 * else to do. Each is used once, by the next turn of its lane.
 */
export class Foresight {
  private readonly lanes = new Map<string, Promise<Foreseen | null>>();

  constructor(private readonly hall: Hall) {}

  look({ lane, chat_jid }: Work): void {
    if (this.lanes.size >= MOST) this.lanes.clear();
    // What cannot be read now is read again by the turn, which says what is wrong.
    this.lanes.set(
      lane,
      this.read(chat_jid, threadOf(lane)).catch(() => null),
    );
  }

  /** What was foreseen for a lane, once. */
  async take(lane: string): Promise<Foreseen | null> {
    const foreseen = this.lanes.get(lane);
    this.lanes.delete(lane);
    return (await foreseen) ?? null;
  }

  private async read(chatJid: string, threadId: string): Promise<Foreseen> {
    // The write goes first.
    await setImmediate();
    const { read } = this.hall.store;
    const [head, labels] = await Promise.all([read.head(chatJid, threadId), read.labels(chatJid)]);
    return { head, labels, spokenAt: await lastSpokenAt(this.hall, chatJid, head) };
  }
}
