/** Notices on their way to the database. Bounded in number and in bytes: beyond that the oldest go and are counted. */
import type { AlertNotice } from "../../schemas/api/events.ts";

/** A notice before it is written down. The alias is that of the moment in which it is. */
export type DraftNotice = Omit<AlertNotice, "alias">;

export interface WaitingNotice {
  readonly draft: DraftNotice;
  readonly bytes: number;
  /** It is written down. */
  tell(notice: AlertNotice): void;
}

export interface NoticeBounds {
  readonly notices: number;
  readonly bytes: number;
}

export class WaitingNotices {
  readonly #most: NoticeBounds;
  #waiting: WaitingNotice[] = [];
  #bytes = 0;
  #lost = 0;

  constructor(most: NoticeBounds) {
    this.#most = most;
  }

  get size(): number {
    return this.#waiting.length;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  add(notice: WaitingNotice): void {
    this.#waiting.push(notice);
    this.#bytes += notice.bytes;
    this.#shrink();
  }

  /** The oldest. */
  take(most: number): readonly WaitingNotice[] {
    const taken = this.#waiting.splice(0, most);
    for (const { bytes } of taken) this.#bytes -= bytes;
    return taken;
  }

  /** What could not be written is still the oldest. */
  putBack(taken: readonly WaitingNotice[]): void {
    this.#waiting = [...taken, ...this.#waiting];
    for (const { bytes } of taken) this.#bytes += bytes;
    this.#shrink();
  }

  /** It can never be written. */
  lose(): void {
    this.#lost += 1;
  }

  /** Since it was last asked. */
  takeLosses(): number {
    const lost = this.#lost;
    this.#lost = 0;
    return lost;
  }

  /** Never the newest alone, however large. */
  #shrink(): void {
    let excess = 0;
    let bytes = this.#bytes;
    while (
      this.#waiting.length - excess > 1 &&
      (this.#waiting.length - excess > this.#most.notices || bytes > this.#most.bytes)
    ) {
      bytes -= this.#waiting[excess]?.bytes ?? 0;
      excess += 1;
    }
    if (excess === 0) return;
    this.#waiting.splice(0, excess);
    this.#bytes = bytes;
    this.#lost += excess;
  }
}
