/** SORT (Bewley and others, 2016) with its published settings. */
import { Assigner } from "../../elements/track/assign.ts";
import type { MotTracker, Sighting, TrackBox, TrackedBox } from "../../elements/track/mot-tracker.ts";
import { overlap } from "../../elements/track/overlap.ts";
import { SquareFilter } from "./square-filter.ts";

const MAX_AGE = 1;
const MIN_HITS = 3;
const MIN_OVERLAP = 0.3;

interface SortTrack {
  readonly filter: SquareFilter;
  id: number;
  streak: number;
  sinceSeen: number;
  confidence: number;
}

export class SortTracker implements MotTracker {
  readonly #assigner = new Assigner();
  #tracks: SortTrack[] = [];
  #frames = 0;
  #lastId = 0;

  update(_timeNs: bigint, sightings: readonly Sighting[]): readonly TrackedBox[] {
    this.#frames += 1;
    for (const track of this.#tracks) {
      track.filter.predict();
      if (track.sinceSeen > 0) track.streak = 0;
      track.sinceSeen += 1;
    }
    const boxes = this.#tracks.map((track) => track.filter.box);
    // The best total overlap is found first, and pairs that overlap too little are dropped afterwards.
    const costs = Float64Array.from({ length: sightings.length * boxes.length }, (_, i) => {
      const sighting = sightings[Math.floor(i / boxes.length)] as Sighting;
      return 1 - overlap(sighting.box, boxes[i % boxes.length] as TrackBox);
    });
    const pairs = this.#assigner.solve(costs, sightings.length, boxes.length, 2);
    const created: SortTrack[] = [];
    sightings.forEach((sighting, row) => {
      const column = pairs[row] as number;
      if (column >= 0 && 1 - (costs[row * boxes.length + column] as number) >= MIN_OVERLAP) {
        const track = this.#tracks[column] as SortTrack;
        track.filter.correct(sighting.box);
        track.streak += 1;
        track.sinceSeen = 0;
        track.confidence = sighting.confidence;
        return;
      }
      const filter = new SquareFilter(sighting.box);
      created.push({ filter, id: 0, streak: 0, sinceSeen: 0, confidence: sighting.confidence });
    });
    this.#tracks = [...this.#tracks, ...created].filter((track) => track.sinceSeen <= MAX_AGE);
    return this.#tracks
      .filter((track) => track.sinceSeen === 0 && (track.streak >= MIN_HITS || this.#frames <= MIN_HITS))
      .map((track) => {
        if (track.id === 0) track.id = ++this.#lastId;
        return { id: track.id, box: track.filter.box, confidence: track.confidence, predicted: false };
      });
  }
}
