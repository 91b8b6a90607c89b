/** One tracked object: its box filter, its class vote, and the cost of matching a sighting to it. */
import type { CameraMotion } from "../../schemas/camera-motion.ts";
import { Axis, type AxisState } from "./kalman.ts";
import type { KeptTrack } from "./kept-tracks.ts";
import type { Sighting, TrackBox } from "./mot-tracker.ts";

/** Weight of the latest sighting in the usual confidence of a track. */
const CONFIDENCE_SHARE = 0.3;
/** A sighting less confident than usual by 0.25 counts half. */
const DOUBT = 4;
/** Weight of the sighting in the shown box: the filter is smoother, but lags. */
const SHOWN_SHARE = 0.2;

/** State of one tracked object. Its id is 0 until it is first shown. */
export class ObjectTrack {
  filter: BoxFilter;
  bornS: number;
  readonly vote: ClassVote;
  readonly spread: Spread = { x: 1, y: 1, width: 1, height: 1, vagueness: 0 };
  id = 0;
  hits = 1;
  seenS: number;
  /** Time of the last sure sighting. */
  sureS: number;
  seenBox: TrackBox;
  confidence: number;
  usualConfidence: number;
  /** Surprise of any sighting: from 0 up for a track that was lost. */
  handicap = 0;
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

  /** Its state, with times before `timeS`. */
  keep(timeS: number): KeptTrack {
    const { id, vote, confidence, usualConfidence, hits, bornS, seenS, sureS, filter } = this;
    const times = { bornS: timeS - bornS, seenS: timeS - seenS, sureS: timeS - sureS };
    return { ...{ id, classId: vote.classId, confidence, usualConfidence, hits }, ...times, axes: filter.axes };
  }

  /** The track of `keep`, as of `timeS`. */
  static restore(kept: KeptTrack, timeS: number): ObjectTrack {
    const { id, classId, confidence, usualConfidence, hits, bornS, seenS, sureS, axes } = kept;
    const filter = BoxFilter.restore(axes);
    const track = new ObjectTrack({ box: filter.box, confidence, classId }, timeS - bornS, true);
    track.filter = filter;
    Object.assign(track, { id, usualConfidence, hits, seenS: timeS - seenS, sureS: timeS - sureS });
    return track;
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

  /** Time in which it certainly did not change. */
  hold(seconds: number): void {
    this.seenS += seconds;
    this.sureS += seconds;
  }

  showBox(timeS: number): TrackBox {
    const { box } = this.filter;
    if (this.seenS !== timeS) return box;
    const blend = (i: 0 | 1 | 2 | 3): number => box[i] + SHOWN_SHARE * (this.seenBox[i] - box[i]);
    return [blend(0), blend(1), blend(2), blend(3)];
  }
}

/**
 * Standard deviations in lengths of the object (its longer side). `SEEN`: error of the detector. `FIRST_SPEED`: initial
 * speed per second. `STRAY`: change of speed per second. Measured on detections of people against ground truth: 0.02 to
 * 0.05 for the centre, twice that for the size; slightly more is assumed, as errors of successive frames are correlated.
 */
const SEEN = { x: 0.045, y: 0.05, width: 0.07, height: 0.09 };
const FIRST_SPEED = { x: 1.5, y: 1.5, width: 0.2, height: 0.2 };
const STRAY = { x: 0.15, y: 0.125, width: 0.15, height: 0.15 };

const AXES = ["x", "y", "width", "height"] as const;
const square = (value: number): number => value * value;

/** Kalman filter of a box: centre and size, each with a speed per second. */
class BoxFilter {
  x: Axis;
  y: Axis;
  width: Axis;
  height: Axis;

  constructor(box: TrackBox) {
    const unit = measureUnit(box[2], box[3]);
    const start = (name: (typeof AXES)[number], at: number): Axis =>
      new Axis(at, square(SEEN[name] * unit), square(FIRST_SPEED[name] * unit));
    this.x = start("x", box[0] + box[2] / 2);
    this.y = start("y", box[1] + box[3] / 2);
    this.width = start("width", box[2]);
    this.height = start("height", box[3]);
  }

  get axes(): readonly AxisState[] {
    return AXES.map((name) => this[name].state);
  }

  static restore(axes: readonly AxisState[]): BoxFilter {
    const filter = new BoxFilter([0, 0, 0, 0]);
    AXES.forEach((name, at) => {
      filter[name] = Axis.restore(axes[at] as AxisState);
    });
    return filter;
  }

  /** Its longer side: the scale of all uncertainties. */
  get unit(): number {
    return measureUnit(this.width.position, this.height.position);
  }

  /** The size of a lost object is kept constant. */
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

  /** `doubt`, from 1 up, scales the measurement noise. */
  correct([left, top, width, height]: TrackBox, doubt: number): void {
    const noise = square(measureUnit(width, height)) * doubt;
    this.x.correct(left + width / 2, square(SEEN.x) * noise);
    this.y.correct(top + height / 2, square(SEEN.y) * noise);
    this.width.correct(width, square(SEEN.width) * noise);
    this.height.correct(height, square(SEEN.height) * noise);
  }

  /** Moves the box with the image. The speed stays that of the object. */
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

  /** Variances of the expected sighting: those of the filter plus those of the detector. */
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

interface Spread {
  x: number;
  y: number;
  width: number;
  height: number;
  /** Logarithm of the ratio between the volume of the uncertainty and that of the detector noise. */
  vagueness: number;
}

const measureUnit = (width: number, height: number): number => Math.max(width, height, 1e-6);

/** Another class must lead by this factor before a track changes its class: prevents flicker. */
const LEAD = 1.5;
/** Older votes fade, so that an initially wrong class can be corrected. */
const HALF_LIFE_S = 10;
/** A vote counts for the time since the last one, independent of the frame rate, but for at most this. */
const LONGEST_S = 0.25;
/** Weight of the first vote. */
const FIRST_S = 0.1;

/** The class of a track by votes of its sightings, weighted by confidence and time. */
export class ClassVote {
  classId: number;
  readonly #weights = new Map<number, number>();

  constructor(classId: number, confidence: number) {
    this.classId = classId;
    this.#weights.set(classId, confidence * FIRST_S);
  }

  /** `seconds` have passed since the last vote. */
  cast(classId: number, confidence: number, seconds: number): void {
    const counted = Math.min(Math.max(seconds, 0), LONGEST_S);
    const keep = 2 ** (-counted / HALF_LIFE_S);
    for (const [known, weight] of this.#weights) this.#weights.set(known, weight * keep);
    const weight = (this.#weights.get(classId) ?? 0) + confidence * counted;
    this.#weights.set(classId, weight);
    if (weight > LEAD * (this.#weights.get(this.classId) ?? 0)) this.classId = classId;
  }
}

/**
 * Degrees of freedom of Student's t distribution: a detector is occasionally far off, as for a person half hidden by a
 * car, and that must not cost the person its id.
 */
const TAILS = 10;
/** Surprise per unit of confidence below the usual one of the track. */
const CONFIDENCE_WEIGHT = 3;
/** Surprise of another class: detectors confuse cars with trucks, and less often people with cars. */
const OTHER_CLASS = 3;

/**
 * The surprise of each sighting for each track: the negative log-likelihood. Position and size are weighted by their
 * uncertainty, so that a track lost for a second matches farther away than one just seen, but yields to a more certain
 * track of the same distance, at any frame rate. Values far beyond `limit` are Infinity.
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
    // Beyond this distance, in squared standard deviations, the limit is exceeded in any case.
    const furthest = TAILS * (Math.exp((2 * (limit - track.handicap) - spread.vagueness) / TAILS) - 1);
    for (let column = 0; column < length; column++) {
      const right = (centres[2 * column] as number) - x;
      const down = (centres[2 * column + 1] as number) - y;
      const distance = right * right * weightX + down * down * weightY;
      costs[row * length + column] =
        distance < furthest ? rate(track, sightings[column] as Sighting, distance) : Number.POSITIVE_INFINITY;
    }
  }
}

function rate(track: ObjectTrack, sighting: Sighting, distance: number): number {
  const { filter, spread, vote, usualConfidence, handicap } = track;
  const width = sighting.box[2] - filter.width.position;
  const height = sighting.box[3] - filter.height.position;
  const whole = distance + (width * width) / spread.width + (height * height) / spread.height;
  return (
    handicap +
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
