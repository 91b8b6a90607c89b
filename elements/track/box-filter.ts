import type { CameraMotion } from "../../schemas/camera-motion.ts";
import { Axis } from "./kalman.ts";
import type { TrackBox } from "./mot-tracker.ts";

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
