/**
 * Notices on their way to the database. Bounded in number and in bytes: beyond that the oldest of the process that has the
 * most bytes waiting go and are counted, so that one process that alerts all the time costs no other a notice.
 */
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
  /** The same by process. */
  readonly #bytesOf = new Map<string, number>();
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
    this.#count(notice, 1);
    this.#shrink();
  }

  /** The oldest; one at least, however large. */
  take(most: NoticeBounds): readonly WaitingNotice[] {
    let amount = 0;
    let bytes = 0;
    for (const notice of this.#waiting) {
      if (amount > 0 && (amount >= most.notices || bytes + notice.bytes > most.bytes)) break;
      amount += 1;
      bytes += notice.bytes;
    }
    const taken = this.#waiting.splice(0, amount);
    for (const notice of taken) this.#count(notice, -1);
    return taken;
  }

  /** What could not be written is still the oldest. */
  putBack(taken: readonly WaitingNotice[]): void {
    this.#waiting = [...taken, ...this.#waiting];
    for (const notice of taken) this.#count(notice, 1);
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

  #count({ draft: { process_uuid: process }, bytes }: WaitingNotice, sign: 1 | -1): void {
    this.#bytes += sign * bytes;
    const left = (this.#bytesOf.get(process) ?? 0) + sign * bytes;
    if (left > 0) this.#bytesOf.set(process, left);
    else this.#bytesOf.delete(process);
  }

  /** One stays at least, however large. */
  #shrink(): void {
    const { notices, bytes } = this.#most;
    while (this.#waiting.length > 1 && (this.#waiting.length > notices || this.#bytes > bytes)) {
      const [heaviest] = [...this.#bytesOf].reduce((most, each) => (each[1] > most[1] ? each : most), ["", 0]);
      const at = this.#waiting.findIndex(({ draft }) => draft.process_uuid === heaviest);
      const [gone] = this.#waiting.splice(Math.max(0, at), 1);
      if (gone !== undefined) this.#count(gone, -1);
      this.#lost += 1;
    }
  }
}
