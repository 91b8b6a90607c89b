import type { CameraMotion } from "../../schemas/camera-motion.ts";
import { Axis } from "./kalman.ts";
import type { Sighting, TrackBox } from "./mot-tracker.ts";

/** Share of the latest sighting in the usual confidence of a track. */
const CONFIDENCE_SHARE = 0.3;
/** A sighting less confident than usual by 0.25 counts half. */
const DOUBT = 4;
/** Share of the sighting itself in the box shown: the filter is steadier, and late. */
const SHOWN_SHARE = 0.2;

/** One object as the tracker knows it. Its id is 0 until it is first shown. */
export class ObjectTrack {
  readonly filter: BoxFilter;
  readonly bornS: number;
  readonly vote: ClassVote;
  readonly spread: Spread = { x: 1, y: 1, width: 1, height: 1, vagueness: 0 };
  id = 0;
  hits = 1;
  seenS: number;
  /** When it was last seen by more than a weak sighting. */
  sureS: number;
  seenBox: TrackBox;
  confidence: number;
  usualConfidence: number;
  isConfirmed: boolean;

  constructor({ box, confidence, classId }: Sighting, timeS: number, isConfirmed: boolean) {
    this.filter = new BoxFilter(box);
    this.vote = new ClassVote(classId, confidence);
    this.bornS = timeS;
    this.seenS = timeS;
    this.sureS = timeS;
    this.seenBox = box;
    this.confidence = confidence;
    this.usualConfidence = confidence;
    this.isConfirmed = isConfirmed;
  }

  see({ box, confidence, classId }: Sighting, timeS: number, isSure: boolean): void {
    this.filter.correct(box, 1 + DOUBT * Math.max(0, this.usualConfidence - confidence));
    this.vote.cast(classId, confidence, timeS - this.seenS);
    this.hits += 1;
    this.seenS = timeS;
    if (isSure) this.sureS = timeS;
    this.seenBox = box;
    this.confidence = confidence;
    this.usualConfidence += CONFIDENCE_SHARE * (confidence - this.usualConfidence);
  }

  showBox(timeS: number): TrackBox {
    const { box } = this.filter;
    if (this.seenS !== timeS) return box;
    const blend = (i: 0 | 1 | 2 | 3): number => box[i] + SHOWN_SHARE * (this.seenBox[i] - box[i]);
    return [blend(0), blend(1), blend(2), blend(3)];
  }
}

/**
 * Standard deviations in lengths of the object (its longer side). `SEEN`: how far a detector is off. `FIRST_SPEED`: how
 * fast an object may be when nothing is known of it yet, a second. `STRAY`: how much its speed changes in a second.
 * Measured on detections of people against what people had marked: two to five hundredths for the centre, twice that for
 * the size; a bit more is assumed, as the errors of successive frames are alike.
 */
const SEEN = { x: 0.045, y: 0.05, width: 0.07, height: 0.09 };
const FIRST_SPEED = { x: 1.5, y: 1.5, width: 0.2, height: 0.2 };
const STRAY = { x: 0.15, y: 0.125, width: 0.15, height: 0.15 };

const AXES = ["x", "y", "width", "height"] as const;
const square = (value: number): number => value * value;

/** Where a box is and where it goes: centre and size, each with a speed a second. */
export class BoxFilter {
  readonly x: Axis;
  readonly y: Axis;
  readonly width: Axis;
  readonly height: Axis;

  constructor(box: TrackBox) {
    const unit = measureUnit(box[2], box[3]);
    const start = (name: (typeof AXES)[number], at: number): Axis =>
      new Axis(at, square(SEEN[name] * unit), square(FIRST_SPEED[name] * unit));
    this.x = start("x", box[0] + box[2] / 2);
    this.y = start("y", box[1] + box[3] / 2);
    this.width = start("width", box[2]);
    this.height = start("height", box[3]);
  }

  /** Its longer side: what all that is uncertain about it goes by. */
  get unit(): number {
    return measureUnit(this.width.position, this.height.position);
  }

  /** What an object that is out of sight does to its size is not known: it stays. */
  predict(seconds: number, isLost: boolean): void {
    if (isLost) {
      this.width.speed = 0;
      this.height.speed = 0;
    }
    const unit = this.unit;
    for (const name of AXES) {
      const stray = square(STRAY[name] * unit) * seconds;
      this[name].predict(seconds, (stray * seconds * seconds) / 3, stray);
    }
  }

  /** `doubt`, from 1 up, is how much less than usual the box is to be believed. */
  correct([left, top, width, height]: TrackBox, doubt: number): void {
    const noise = square(measureUnit(width, height)) * doubt;
    this.x.correct(left + width / 2, square(SEEN.x) * noise);
    this.y.correct(top + height / 2, square(SEEN.y) * noise);
    this.width.correct(width, square(SEEN.width) * noise);
    this.height.correct(height, square(SEEN.height) * noise);
  }

  /** Takes the box along with the picture. The speed stays the object's own. */
  move({ a, b, right, down }: CameraMotion): void {
    const { x, y, width, height } = this;
    [x.position, y.position] = [a * x.position - b * y.position + right, b * x.position + a * y.position + down];
    [x.speed, y.speed] = [a * x.speed - b * y.speed, b * x.speed + a * y.speed];
    const scale = Math.hypot(a, b);
    for (const size of [width, height]) {
      size.position *= scale;
      size.speed *= scale;
    }
  }

  /** Variances of where the next sighting should be: the filter's own and the detector's. */
  expect(spread: Spread): void {
    const noise = square(this.unit);
    spread.x = this.x.positionVariance + square(SEEN.x) * noise;
    spread.y = this.y.positionVariance + square(SEEN.y) * noise;
    spread.width = this.width.positionVariance + square(SEEN.width) * noise;
    spread.height = this.height.positionVariance + square(SEEN.height) * noise;
    const least = square(SEEN.x * SEEN.y) * square(SEEN.width * SEEN.height) * square(square(noise));
    spread.vagueness = Math.log((spread.x * spread.y * spread.width * spread.height) / least);
  }

  get box(): TrackBox {
    const width = Math.max(this.width.position, 1e-6);
    const height = Math.max(this.height.position, 1e-6);
    return [this.x.position - width / 2, this.y.position - height / 2, width, height];
  }
}

export interface Spread {
  x: number;
  y: number;
  width: number;
  height: number;
  /** Logarithm of how many times larger the space is in which the object may be than that of the detector's noise. */
  vagueness: number;
}

const measureUnit = (width: number, height: number): number => Math.max(width, height, 1e-6);

/** Another class must be ahead by this factor before a track changes its own: two that take turns do not flicker. */
const LEAD = 1.5;
/** Older votes fade, so that a class settled wrongly at first can still be left. */
const HALF_LIFE_S = 10;
/** A vote speaks for the time since the last one, so that a frame rate changes nothing, but for no longer than this. */
const LONGEST_S = 0.25;
/** The first has none before it. */
const FIRST_S = 0.1;

/** What a track's sightings say it is: a vote each, weighed by confidence and time. */
export class ClassVote {
  #classId: number;
  readonly #weights = new Map<number, number>();

  constructor(classId: number, confidence: number) {
    this.#classId = classId;
    this.#weights.set(classId, confidence * FIRST_S);
  }

  get classId(): number {
    return this.#classId;
  }

  /** `seconds` have passed since the last vote. */
  cast(classId: number, confidence: number, seconds: number): void {
    const counted = Math.min(Math.max(seconds, 0), LONGEST_S);
    const keep = 2 ** (-counted / HALF_LIFE_S);
    for (const [known, weight] of this.#weights) this.#weights.set(known, weight * keep);
    const weight = (this.#weights.get(classId) ?? 0) + confidence * counted;
    this.#weights.set(classId, weight);
    if (weight > LEAD * (this.#weights.get(this.#classId) ?? 0)) this.#classId = classId;
  }
}

/**
 * Tails of the distribution (degrees of freedom of Student's t): now and then a detector is far off, as when it sees one
 * half of a person behind a car, and that must not cost the person its id.
 */
const TAILS = 10;
/** Surprise at a sighting that is less confident by 1 than the track is used to. */
const CONFIDENCE_WEIGHT = 3;
/** Surprise at another class: detectors take cars for trucks, and less often people for cars. */
const OTHER_CLASS = 3;

/**
 * How surprising each sighting would be if it were of each track: the negative logarithm of its likelihood. It weighs place
 * and size by how well each is known, so that a track lost for a second may be found further off than one just seen, but
 * yields to one that fits as well and is surer. That holds at any frame rate. What is far beyond `limit` is Infinity.
 */
export function fillSurprise(
  costs: Float64Array,
  tracks: readonly ObjectTrack[],
  sightings: readonly Sighting[],
  limit: number,
): void {
  const { length } = sightings;
  const centres = listCentres(sightings);
  for (let row = 0; row < tracks.length; row++) {
    const track = tracks[row] as ObjectTrack;
    const { filter, spread } = track;
    filter.expect(spread);
    const x = filter.x.position;
    const y = filter.y.position;
    const weightX = 1 / spread.x;
    const weightY = 1 / spread.y;
    // Nothing beyond this distance, in standard deviations squared, can stay within the limit.
    const furthest = TAILS * (Math.exp((2 * limit - spread.vagueness) / TAILS) - 1);
    for (let column = 0; column < length; column++) {
      const right = (centres[2 * column] as number) - x;
      const down = (centres[2 * column + 1] as number) - y;
      const distance = right * right * weightX + down * down * weightY;
      costs[row * length + column] =
        distance < furthest ? rate(track, sightings[column] as Sighting, distance) : Number.POSITIVE_INFINITY;
    }
  }
}

function rate({ filter, spread, vote, usualConfidence }: ObjectTrack, sighting: Sighting, distance: number): number {
  const width = sighting.box[2] - filter.width.position;
  const height = sighting.box[3] - filter.height.position;
  const whole = distance + (width * width) / spread.width + (height * height) / spread.height;
  return (
    spread.vagueness / 2 +
    (TAILS / 2) * Math.log1p(whole / TAILS) +
    CONFIDENCE_WEIGHT * Math.max(0, usualConfidence - sighting.confidence) +
    (sighting.classId === vote.classId ? 0 : OTHER_CLASS)
  );
}

function listCentres(sightings: readonly Sighting[]): Float64Array {
  const centres = new Float64Array(sightings.length * 2);
  sightings.forEach(({ box }, i) => {
    centres[2 * i] = box[0] + box[2] / 2;
    centres[2 * i + 1] = box[1] + box[3] / 2;
  });
  return centres;
}
