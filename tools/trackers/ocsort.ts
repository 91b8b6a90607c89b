/** OC-SORT (Cao and others, 2023) with its published settings. */
import { Assigner } from "../../elements/track/assign.ts";
import type { MotTracker, Sighting, TrackBox, TrackedBox } from "../../elements/track/mot-tracker.ts";
import { overlap } from "../../elements/track/overlap.ts";
import { SquareFilter } from "./sort.ts";

const MIN_CONFIDENCE = 0.6;
const MAX_AGE = 30;
const MIN_HITS = 3;
const MIN_OVERLAP = 0.3;
const INERTIA = 0.2;

export class OcsortTracker implements MotTracker {
  readonly #assigner = new Assigner();
  #tracks: OcsortTrack[] = [];
  #frames = 0;
  #lastId = 0;

  update(_timeNs: bigint, sightings: readonly Sighting[]): readonly TrackedBox[] {
    this.#frames += 1;
    const sure = sightings.filter(({ confidence }) => confidence > MIN_CONFIDENCE);
    for (const track of this.#tracks) track.predict();
    const first = this.#match(this.#tracks, sure, (track, sighting, similar) => similar + turn(track, sighting));
    const second = this.#match(first.tracks, first.sightings, (_track, _sighting, similar) => similar, true);
    for (const track of second.tracks) track.miss();
    const created = second.sightings.map((sighting) => new OcsortTrack(sighting));
    this.#tracks = [...this.#tracks, ...created].filter(({ sinceSeen }) => sinceSeen <= MAX_AGE);
    return this.#tracks
      .filter(({ sinceSeen, streak }) => sinceSeen === 0 && (streak >= MIN_HITS || this.#frames <= MIN_HITS))
      .map((track) => {
        if (track.id === 0) track.id = ++this.#lastId;
        return { id: track.id, box: track.shownBox, confidence: track.confidence, predicted: false };
      });
  }

  #match(
    tracks: readonly OcsortTrack[],
    sightings: readonly Sighting[],
    rate: (track: OcsortTrack, sighting: Sighting, similar: number) => number,
    isByLastSighting = false,
  ) {
    const { length } = sightings;
    const overlaps = new Float64Array(tracks.length * length);
    // Ratings are from -0.1 to 1.1. The best total is found first; pairs with too little overlap are dropped afterwards.
    const costs = new Float64Array(tracks.length * length);
    tracks.forEach((track, row) => {
      const box = isByLastSighting ? track.lastSeen : track.filter.box;
      sightings.forEach((sighting, column) => {
        const similar = box === null ? 0 : overlap(box, sighting.box);
        overlaps[row * length + column] = similar;
        costs[row * length + column] = 2 - rate(track, sighting, similar);
      });
    });
    const pairs = this.#assigner.solve(costs, tracks.length, length, 4);
    const left = new Set(sightings);
    const unmatched: OcsortTrack[] = [];
    tracks.forEach((track, row) => {
      const column = pairs[row] as number;
      if (column < 0 || (overlaps[row * length + column] as number) < MIN_OVERLAP) {
        unmatched.push(track);
        return;
      }
      const sighting = sightings[column] as Sighting;
      left.delete(sighting);
      track.see(sighting);
    });
    return { tracks: unmatched, sightings: [...left] };
  }
}

/** How well the direction to a sighting continues the direction of the track. */
function turn(track: OcsortTrack, { box, confidence }: Sighting): number {
  const from = track.observe(DELTA);
  if (from === null) return 0;
  const [x, y] = direct(from, box);
  const cosine = Math.min(Math.max(track.direction[0] * x + track.direction[1] * y, -1), 1);
  return ((Math.PI / 2 - Math.acos(cosine)) / Math.PI) * INERTIA * confidence;
}

/** Frames over which a direction is measured. */
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
  /** Copy of the filter at the first frame without a sighting. */
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

  /** Runs the filter again from where the track was lost, with sightings interpolated along a straight line. */
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
