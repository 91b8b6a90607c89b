import { Assigner } from "./assign.ts";
import type { Sighting, TrackBox } from "./mot-tracker.ts";
import { ObjectTrack } from "./object-track.ts";
import { overlap } from "./overlap.ts";
import type { TrackerSettings } from "./settings.ts";

export interface ShownTrack {
  readonly id: number;
  readonly box: TrackBox;
  readonly confidence: number;
  readonly classId: number;
  readonly predicted: boolean;
  readonly ageMs: number;
  /** Right and down, a second, in the unit of the boxes. */
  readonly velocity: readonly [number, number];
}

export interface TrackerFrame {
  /** By id. */
  readonly shown: readonly ShownTrack[];
  /** Ids given up with this frame. */
  readonly ended: readonly number[];
}

/**
 * Gives sightings ids that stay with the objects. Knows nothing of frames or pictures: times and boxes in, tracks out; the
 * same in gives the same out, in whatever order the sightings of a frame come.
 */
export class Tracker {
  settings: TrackerSettings;
  readonly #assigner = new Assigner();
  #tracks: ObjectTrack[] = [];
  #ended: number[] = [];
  #startNs: bigint | null = null;
  #timeS = 0;
  #nextId: number;
  /** Nothing is known yet, or all was lost in a gap: what is seen first needs no confirmation. */
  #isFresh = true;

  constructor(settings: TrackerSettings) {
    this.settings = settings;
    this.#nextId = settings.firstId;
  }

  /** A frame that was looked at. */
  update(timeNs: bigint, sightings: readonly Sighting[]): TrackerFrame {
    this.#moveTo(timeNs);
    const { settings } = this;
    const usable = sightings.filter(({ box, confidence }) => confidence >= settings.weak && box[2] > 0 && box[3] > 0);
    usable.sort(compareSightings);
    const sure = usable.filter(({ confidence }) => confidence >= settings.confidence);
    const weak = usable.filter(({ confidence }) => confidence < settings.confidence);

    const known = this.#tracks.filter(({ isConfirmed }) => isConfirmed);
    const tentative = this.#tracks.filter(({ isConfirmed }) => !isConfirmed);
    const first = this.#match(known, sure, settings.minLikeness);
    this.#match(first.tracks, weak, settings.minLikenessWeak);
    const rest = this.#match(tentative, first.sightings, settings.minLikenessTentative);
    this.#create(rest.sightings);
    this.#giveUp();
    this.#isFresh = false;
    return this.#report();
  }

  /** A frame that was not looked at: where everything should be by now. */
  predict(timeNs: bigint): TrackerFrame {
    this.#moveTo(timeNs);
    this.#giveUp();
    return this.#report();
  }

  /** Nothing before this moment has to do with what comes. Ids go on. */
  reset(): void {
    this.#endAll();
    this.#startNs = null;
  }

  #endAll(): void {
    for (const { id } of this.#tracks) if (id > 0) this.#ended.push(id);
    this.#tracks = [];
    this.#isFresh = true;
  }

  #moveTo(timeNs: bigint): void {
    if (this.#startNs === null) {
      this.#startNs = timeNs;
      this.#timeS = 0;
    }
    const timeS = Number(timeNs - this.#startNs) / 1e9;
    const seconds = timeS - this.#timeS;
    this.#timeS = timeS;
    if (seconds < 0 || seconds > this.settings.maxAgeS) this.#endAll();
    for (const track of this.#tracks) track.filter.predict(seconds);
  }

  #match(tracks: readonly ObjectTrack[], sightings: readonly Sighting[], minLikeness: number) {
    const { length } = sightings;
    const costs = new Float64Array(tracks.length * length);
    tracks.forEach((track, row) => {
      const predicted = track.filter.box;
      sightings.forEach(({ box, classId, confidence }, column) => {
        const penalty = classId === track.vote.classId ? 0 : this.settings.classPenalty;
        costs[row * length + column] = 1 - (overlap(predicted, box) * confidence - penalty);
      });
    });
    const pairs = this.#assigner.solve(costs, tracks.length, length, 1 - minLikeness);
    const left = new Set(sightings);
    const unmatched: ObjectTrack[] = [];
    tracks.forEach((track, row) => {
      const sighting = sightings[pairs[row] as number];
      if (sighting === undefined) {
        unmatched.push(track);
        return;
      }
      left.delete(sighting);
      track.see(sighting, this.#timeS);
      if (track.hits >= this.settings.confirmHits) track.isConfirmed = true;
    });
    return { tracks: unmatched, sightings: [...left] };
  }

  #create(sightings: readonly Sighting[]): void {
    const { confidence, birthMargin, duplicateOverlap } = this.settings;
    for (const sighting of sightings) {
      if (sighting.confidence < confidence + birthMargin) continue;
      const isDuplicate = this.#tracks.some(
        ({ seenS, seenBox }) => seenS === this.#timeS && overlap(seenBox, sighting.box) > duplicateOverlap,
      );
      if (!isDuplicate) this.#tracks.push(new ObjectTrack(sighting, this.#timeS, this.#isFresh));
    }
  }

  #giveUp(): void {
    const { maxAgeS, tentativeAgeS } = this.settings;
    this.#tracks = this.#tracks.filter(({ id, seenS, isConfirmed }) => {
      const isAlive = this.#timeS - seenS <= (isConfirmed ? maxAgeS : tentativeAgeS);
      if (!isAlive && id > 0) this.#ended.push(id);
      return isAlive;
    });
  }

  #report(): TrackerFrame {
    const shown: ShownTrack[] = [];
    for (const track of this.#tracks) {
      const unseenS = this.#timeS - track.seenS;
      if (!track.isConfirmed || unseenS > this.settings.showPredictedS) continue;
      if (track.id === 0) track.id = this.#nextId++;
      shown.push({
        id: track.id,
        box: track.filter.box,
        confidence: track.confidence,
        classId: track.vote.classId,
        predicted: unseenS > 0,
        ageMs: (this.#timeS - track.bornS) * 1000,
        velocity: [track.filter.x.speed, track.filter.y.speed],
      });
    }
    const ended = this.#ended.sort((a, b) => a - b);
    this.#ended = [];
    return { shown: shown.sort((a, b) => a.id - b.id), ended };
  }
}

function compareSightings(a: Sighting, b: Sighting): number {
  if (a.confidence !== b.confidence) return b.confidence - a.confidence;
  for (let i = 0; i < 4; i++) {
    const difference = (a.box[i] as number) - (b.box[i] as number);
    if (difference !== 0) return difference;
  }
  return a.classId - b.classId;
}
