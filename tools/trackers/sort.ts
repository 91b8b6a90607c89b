/** SORT (Bewley and others, 2016) with its published settings. */
import { Assigner } from "../../elements/track/assign.ts";
import { Axis } from "../../elements/track/kalman.ts";
import type { MotTracker, Sighting, TrackBox, TrackedBox } from "../../elements/track/mot-tracker.ts";
import { overlap } from "../../elements/track/overlap.ts";

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
    // The best total overlap is found first; pairs with too little overlap are dropped afterwards.
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

/** The filter of SORT, which OC-SORT kept: centre, area, and an aspect that does not move. One step a frame. */
export class SquareFilter {
  #x: Axis;
  #y: Axis;
  #area: Axis;
  #aspect: Axis;

  constructor(box: TrackBox) {
    const [x, y, area, aspect] = measure(box);
    this.#x = new Axis(x, 10, 10_000);
    this.#y = new Axis(y, 10, 10_000);
    this.#area = new Axis(area, 10, 10_000);
    this.#aspect = new Axis(aspect, 10, 0);
  }

  predict(): void {
    if (this.#area.position + this.#area.speed <= 0) this.#area.speed = 0;
    this.#x.predict(1, 1, 0.01);
    this.#y.predict(1, 1, 0.01);
    this.#area.predict(1, 1, 0.0001);
    this.#aspect.predict(1, 1, 0);
  }

  correct(box: TrackBox): void {
    const [x, y, area, aspect] = measure(box);
    this.#x.correct(x, 1);
    this.#y.correct(y, 1);
    this.#area.correct(area, 10);
    this.#aspect.correct(aspect, 10);
  }

  get box(): TrackBox {
    const area = Math.max(this.#area.position, 1e-9);
    const width = Math.sqrt(area * Math.max(this.#aspect.position, 1e-9));
    const height = area / width;
    return [this.#x.position - width / 2, this.#y.position - height / 2, width, height];
  }

  clone(): SquareFilter {
    const copy = new SquareFilter(this.box);
    copy.#x = this.#x.clone();
    copy.#y = this.#y.clone();
    copy.#area = this.#area.clone();
    copy.#aspect = this.#aspect.clone();
    return copy;
  }
}

function measure([left, top, width, height]: TrackBox): TrackBox {
  return [left + width / 2, top + height / 2, width * height, width / Math.max(height, 1e-9)];
}
