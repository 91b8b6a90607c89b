/** What came of every alert and subscription, and what was there to be told of. Bounded by the tracks there were. */
import type { DetectionMessage } from "../../schemas/detection-message.ts";
import type { Sending } from "./sending.ts";

export interface RowTally {
  readonly events: Readonly<Record<string, number>>;
  readonly count: number;
  readonly firstMs: number | null;
  readonly lastMs: number | null;
}

const NONE: RowTally = { events: {}, count: 0, firstMs: null, lastMs: null };

export class Tally {
  readonly #rows: RowTally[];
  /** By id. The class of a track may change while it is watched: the last one counts. */
  readonly #classes = new Map<number, string>();
  #messages = 0;
  #untracked = 0;

  constructor(rows: number) {
    this.#rows = Array.from({ length: rows }, () => NONE);
  }

  get rows(): readonly RowTally[] {
    return this.#rows;
  }

  get sent(): number {
    return this.#rows.reduce((sum, { count }) => sum + count, 0);
  }

  /** Messages in which something was found that nobody follows. */
  get untracked(): number {
    return this.#untracked;
  }

  get messages(): number {
    return this.#messages;
  }

  /** Tracks of each class, most first. */
  get tracks(): readonly (readonly [className: string, count: number])[] {
    const counts = new Map<string, number>();
    for (const name of this.#classes.values()) counts.set(name, (counts.get(name) ?? 0) + 1);
    return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  }

  see({ active_tracks }: DetectionMessage): void {
    this.#messages += 1;
    if (active_tracks.some(({ track_id }) => track_id === 0)) this.#untracked += 1;
    for (const { track_id, class_name } of active_tracks) if (track_id > 0) this.#classes.set(track_id, class_name);
  }

  count({ row, event, timeMs }: Sending): void {
    const before = this.#rows[row] ?? NONE;
    this.#rows[row] = {
      events: { ...before.events, [event]: (before.events[event] ?? 0) + 1 },
      count: before.count + 1,
      firstMs: before.firstMs ?? timeMs,
      lastMs: timeMs,
    };
  }
}
