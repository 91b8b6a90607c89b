/** OC-SORT (Cao and others, 2023) with its published settings. */
import { Assigner } from "../../elements/track/assign.ts";
import type { MotTracker, Sighting, TrackedBox } from "../../elements/track/mot-tracker.ts";
import { overlap } from "../../elements/track/overlap.ts";
import { DELTA, direct, OcsortTrack } from "./ocsort-track.ts";

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
    // Ratings reach from -0.1 to 1.1; the best total is found first and pairs that overlap too little dropped afterwards.
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

/** How well the way to a sighting goes on in the direction of the track. */
function turn(track: OcsortTrack, { box, confidence }: Sighting): number {
  const from = track.observe(DELTA);
  if (from === null) return 0;
  const [x, y] = direct(from, box);
  const cosine = Math.min(Math.max(track.direction[0] * x + track.direction[1] * y, -1), 1);
  return ((Math.PI / 2 - Math.acos(cosine)) / Math.PI) * INERTIA * confidence;
}
