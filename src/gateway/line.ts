import { compareCursors } from "../store/store.js";
import type { StreamEvent } from "./events.js";

/** What is kept for a line that is catching up; past this it reads the store once more instead. */
const MOST_CHARACTERS = 1024 * 1024;

/**
 * One open stream. While it reads its own past it keeps the stored events of its chat that happen meanwhile; then it
 * passes on everything as it comes.
 */
export class Line {
  private kept: StreamEvent[] | null = [];
  private characters = 0;

  constructor(
    /** The last stored event that was told, or where the line starts. */
    public last: string | null,
    private readonly chatJid: string | null,
    private readonly push: (event: StreamEvent) => void,
  ) {}

  /** Something happened, in any chat. */
  readonly hear = (event: StreamEvent): void => {
    if (this.chatJid !== null && event.chat_jid !== this.chatJid) return;
    if (this.kept === null) this.tell(event);
    // What streams is not kept: the snapshot says it in one piece when the line has caught up.
    else if (event.cursor !== null) this.add(this.kept, event);
  };

  /** Tell an event, unless it was told before. */
  tell(event: StreamEvent): void {
    if (event.cursor !== null) {
      if (this.last !== null && compareCursors(event.cursor, this.last) <= 0) return;
      this.last = event.cursor;
    }
    this.push(event);
  }

  /** Go past an event that cannot be told. */
  skip(cursor: string): void {
    if (this.last === null || compareCursors(cursor, this.last) > 0) this.last = cursor;
  }

  private add(kept: StreamEvent[], event: StreamEvent): void {
    this.characters += event.data.length;
    if (this.characters > MOST_CHARACTERS) this.kept = [];
    else kept.push(event);
  }

  /** Keep what happens from now on: the store is about to be read. */
  keep(): void {
    this.kept = [];
    this.characters = 0;
  }

  /** Tell what was kept and keep nothing any more; gives what was told. Null if it was too much to keep: read again. */
  goLive(): StreamEvent[] | null {
    if (this.characters > MOST_CHARACTERS) return null;
    const kept = this.kept ?? [];
    this.kept = null;
    for (const event of kept) this.tell(event);
    return kept;
  }
}
