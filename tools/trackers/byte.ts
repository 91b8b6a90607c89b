/** ByteTrack (Zhang and others, 2022) with its published settings. */
import { Assigner } from "../../elements/track/assign.ts";
import { Axis } from "../../elements/track/kalman.ts";
import type { MotTracker, Sighting, TrackBox, TrackedBox } from "../../elements/track/mot-tracker.ts";
import { overlap } from "../../elements/track/overlap.ts";

const HIGH = 0.6;
const LOW = 0.1;
const BIRTH = HIGH + 0.1;
const MAX_LOST_FRAMES = 30;
const COST_FIRST = 0.9;
const COST_SECOND = 0.5;
const COST_UNCONFIRMED = 0.7;
const COST_DUPLICATE = 0.15;

interface ByteTrack {
  readonly filter: HeightFilter;
  readonly firstFrame: number;
  id: number;
  lastFrame: number;
  state: "unconfirmed" | "tracked" | "lost";
  confidence: number;
}

export class ByteTracker implements MotTracker {
  readonly #assigner = new Assigner();
  #tracks: ByteTrack[] = [];
  #frame = 0;
  #lastId = 0;

  update(_timeNs: bigint, sightings: readonly Sighting[]): readonly TrackedBox[] {
    this.#frame += 1;
    const high = sightings.filter(({ confidence }) => confidence > HIGH);
    const low = sightings.filter(({ confidence }) => confidence > LOW && confidence < HIGH);
    const pool = this.#tracks.filter(({ state }) => state !== "unconfirmed");
    const unconfirmed = this.#tracks.filter(({ state }) => state === "unconfirmed");
    for (const { filter, state } of pool) filter.predict(state === "tracked");

    const first = this.#match(pool, high, COST_FIRST, true);
    const tracked = first.tracks.filter(({ state }) => state === "tracked");
    const second = this.#match(tracked, low, COST_SECOND, false);
    for (const track of second.tracks) track.state = "lost";
    const third = this.#match(unconfirmed, first.sightings, COST_UNCONFIRMED, true);
    const created = third.sightings.filter(({ confidence }) => confidence >= BIRTH).map((one) => this.#create(one));
    const gone = new Set(third.tracks);
    const kept = this.#tracks.filter(
      (track) => !gone.has(track) && !(track.state === "lost" && this.#frame - track.lastFrame > MAX_LOST_FRAMES),
    );
    this.#tracks = dropDuplicates([...kept, ...created]);
    return this.#tracks
      .filter(({ state }) => state === "tracked")
      .map((track) => {
        if (track.id === 0) track.id = ++this.#lastId;
        return { id: track.id, box: track.filter.box, confidence: track.confidence, predicted: false };
      });
  }

  #create({ box, confidence }: Sighting): ByteTrack {
    const state = this.#frame === 1 ? "tracked" : "unconfirmed";
    const frame = this.#frame;
    return { filter: new HeightFilter(box), firstFrame: frame, id: 0, lastFrame: frame, state, confidence };
  }

  /** Updates matched tracks and returns the unmatched tracks and sightings. */
  #match(tracks: readonly ByteTrack[], sightings: readonly Sighting[], limit: number, isFused: boolean) {
    const boxes = sightings.map(({ box }) => box);
    const costs = new Float64Array(tracks.length * boxes.length);
    tracks.forEach(({ filter }, row) => {
      const predicted = filter.box;
      boxes.forEach((box, column) => {
        const weight = isFused ? (sightings[column] as Sighting).confidence : 1;
        costs[row * boxes.length + column] = 1 - overlapOfPixels(predicted, box) * weight;
      });
    });
    const pairs = this.#assigner.solve(costs, tracks.length, boxes.length, limit);
    const left = new Set(sightings);
    const unmatched: ByteTrack[] = [];
    tracks.forEach((track, row) => {
      const sighting = sightings[pairs[row] as number];
      if (sighting === undefined) {
        unmatched.push(track);
        return;
      }
      left.delete(sighting);
      track.filter.correct(sighting.box);
      track.state = "tracked";
      track.lastFrame = this.#frame;
      track.confidence = sighting.confidence;
    });
    return { tracks: unmatched, sightings: [...left] };
  }
}

/** The authors' code counts the last pixel as inside the box. */
function overlapOfPixels(a: TrackBox, b: TrackBox): number {
  return overlap([a[0], a[1], a[2] + 1, a[3] + 1], [b[0], b[1], b[2] + 1, b[3] + 1]);
}

/** Of a visible and a lost track at the same place, the longer one is kept. */
function dropDuplicates(tracks: readonly ByteTrack[]): ByteTrack[] {
  const age = ({ lastFrame, firstFrame }: ByteTrack): number => lastFrame - firstFrame;
  const dropped = new Set<ByteTrack>();
  for (const seen of tracks.filter(({ state }) => state !== "lost"))
    for (const lost of tracks.filter(({ state }) => state === "lost"))
      if (1 - overlap(seen.filter.box, lost.filter.box) < COST_DUPLICATE)
        dropped.add(age(seen) > age(lost) ? lost : seen);
  return tracks.filter((track) => !dropped.has(track));
}

const POSITION = 1 / 20;
const SPEED = 1 / 160;
const square = (value: number): number => value * value;

/** The filter of DeepSORT and ByteTrack: centre, aspect and height, with noise that grows with the height. */
export class HeightFilter {
  readonly #x: Axis;
  readonly #y: Axis;
  readonly #aspect: Axis;
  readonly #height: Axis;

  constructor([left, top, width, height]: TrackBox) {
    const position = square(2 * POSITION * height);
    const speed = square(10 * SPEED * height);
    this.#x = new Axis(left + width / 2, position, speed);
    this.#y = new Axis(top + height / 2, position, speed);
    this.#aspect = new Axis(width / Math.max(height, 1e-9), square(1e-2), square(1e-5));
    this.#height = new Axis(height, position, speed);
  }

  /** The height of a track that is out of sight stays as it is. */
  predict(isHeightMoving: boolean): void {
    if (!isHeightMoving) this.#height.speed = 0;
    const position = square(POSITION * this.#height.position);
    const speed = square(SPEED * this.#height.position);
    this.#x.predict(1, position, speed);
    this.#y.predict(1, position, speed);
    this.#aspect.predict(1, square(1e-2), square(1e-5));
    this.#height.predict(1, position, speed);
  }

  correct([left, top, width, height]: TrackBox): void {
    const noise = square(POSITION * this.#height.position);
    this.#x.correct(left + width / 2, noise);
    this.#y.correct(top + height / 2, noise);
    this.#aspect.correct(width / Math.max(height, 1e-9), square(1e-1));
    this.#height.correct(height, noise);
  }

  get box(): TrackBox {
    const height = this.#height.position;
    const width = height * this.#aspect.position;
    return [this.#x.position - width / 2, this.#y.position - height / 2, width, height];
  }
}
