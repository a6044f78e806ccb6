import type { Fact } from "../store/store.js";
import type { Hall } from "./hall.js";

/** Saves what an answer has said so far, every little while, so that a crash does not take it along. */
export class Partials {
  private saving: Promise<void> = Promise.resolve();
  private isSaving = false;
  /** Characters that are saved: while nothing new is said, nothing is written. */
  private saved = 0;
  private stop: (() => void) | null = null;

  constructor(
    private readonly hall: Hall,
    private readonly write: (facts: Fact[]) => Promise<void>,
  ) {}

  begin(callId: string): void {
    this.saved = 0;
    this.stop = this.hall.clock.every(this.hall.limits.saveEveryMs, () => this.save(callId));
  }

  /** Nothing is being saved any more once this resolves. */
  async end(): Promise<void> {
    this.stop?.();
    this.stop = null;
    await this.saving;
  }

  private save(callId: string): void {
    const parts = this.hall.live.parts(callId);
    const size = parts.reduce((sum, { content }) => sum + content.length, 0);
    if (size === this.saved || this.isSaving) return;
    this.isSaving = true;
    this.saving = this.write([{ type: "call_partial", call_id: callId, parts }])
      .then(() => {
        this.saved = size;
      })
      .catch((error) => this.hall.log("warn", "partial.not_saved", { call: callId, why: String(error) }))
      .finally(() => {
        this.isSaving = false;
      });
  }
}
