import type { Sighting, TrackBox } from "../../elements/track/mot-tracker.ts";
import { SquareFilter } from "./square-filter.ts";

/** Frames over which a direction is taken. */
export const DELTA = 3;

export class OcsortTrack {
  filter: SquareFilter;
  id = 0;
  age = 0;
  streak = 0;
  sinceSeen = 0;
  confidence: number;
  direction: readonly [number, number] = [0, 0];
  /** The sighting that began the track does not count. */
  lastSeen: TrackBox | null = null;
  readonly #seen = new Map<number, TrackBox>();
  #lastSeenAge = 0;
  /** As the filter was at the first frame without a sighting. */
  #frozen: SquareFilter | null = null;

  constructor({ box, confidence }: Sighting) {
    this.filter = new SquareFilter(box);
    this.confidence = confidence;
  }

  get shownBox(): TrackBox {
    return this.lastSeen ?? this.filter.box;
  }

  predict(): void {
    this.filter.predict();
    this.age += 1;
    if (this.sinceSeen > 0) this.streak = 0;
    this.sinceSeen += 1;
  }

  miss(): void {
    if (this.lastSeen !== null && this.#frozen === null) this.#frozen = this.filter.clone();
  }

  see({ box, confidence }: Sighting): void {
    const from = this.lastSeen === null ? null : this.#recall(DELTA);
    if (from !== null) this.direction = direct(from, box);
    if (this.#frozen !== null && this.lastSeen !== null) {
      this.#replay(this.#frozen, this.lastSeen, box, this.age - this.#lastSeenAge);
      this.#frozen = null;
    }
    this.filter.correct(box);
    this.lastSeen = box;
    this.#lastSeenAge = this.age;
    this.#seen.set(this.age, box);
    this.#seen.delete(this.age - DELTA - 1);
    this.sinceSeen = 0;
    this.streak += 1;
    this.confidence = confidence;
  }

  /** The sighting of `frames` ago, or the next later one. */
  observe(frames: number): TrackBox | null {
    return this.lastSeen === null ? null : this.#recall(frames);
  }

  #recall(frames: number): TrackBox | null {
    for (let back = frames; back > 0; back--) {
      const box = this.#seen.get(this.age - back);
      if (box !== undefined) return box;
    }
    return this.lastSeen;
  }

  /** The filter is run again from where it was lost, along a straight line of sightings that might have been. */
  #replay(frozen: SquareFilter, from: TrackBox, to: TrackBox, frames: number): void {
    for (let i = 1; i <= frames; i++) {
      const blend = (a: number, b: number): number => a + ((b - a) * i) / frames;
      const width = blend(from[2], to[2]);
      const height = blend(from[3], to[3]);
      const x = blend(from[0] + from[2] / 2, to[0] + to[2] / 2);
      const y = blend(from[1] + from[3] / 2, to[1] + to[3] / 2);
      frozen.correct([x - width / 2, y - height / 2, width, height]);
      if (i < frames) frozen.predict();
    }
    this.filter = frozen;
  }
}

export function direct(from: TrackBox, to: TrackBox): readonly [number, number] {
  const x = to[0] + to[2] / 2 - from[0] - from[2] / 2;
  const y = to[1] + to[3] / 2 - from[1] - from[3] / 2;
  const length = Math.hypot(x, y) + 1e-6;
  return [x / length, y / length];
}
