import { Axis } from "./kalman.ts";
import type { TrackBox } from "./mot-tracker.ts";

const square = (value: number): number => value * value;

/** In heights of the object: how exact a detector is, how fast objects may be at first, how much speeds change in a second. */
const SEEN = 0.05;
const SEEN_SIZE = 0.07;
const FIRST_SPEED = 1.2;
const FIRST_GROWTH = 0.2;
const STRAY = 0.5;
const STRAY_SIZE = 0.15;

/** Where a box is and where it goes: centre and size, each with a speed a second. */
export class BoxFilter {
  readonly x: Axis;
  readonly y: Axis;
  readonly width: Axis;
  readonly height: Axis;

  constructor([left, top, width, height]: TrackBox) {
    const seen = square(SEEN * height);
    const seenSize = square(SEEN_SIZE * height);
    const speed = square(FIRST_SPEED * height);
    const growth = square(FIRST_GROWTH * height);
    this.x = new Axis(left + width / 2, seen, speed);
    this.y = new Axis(top + height / 2, seen, speed);
    this.width = new Axis(width, seenSize, growth);
    this.height = new Axis(height, seenSize, growth);
  }

  predict(seconds: number): void {
    const height = this.height.position;
    const stray = square(STRAY * height) * seconds;
    const straySize = square(STRAY_SIZE * height) * seconds;
    this.x.predict(seconds, (stray * seconds * seconds) / 3, stray);
    this.y.predict(seconds, (stray * seconds * seconds) / 3, stray);
    this.width.predict(seconds, (straySize * seconds * seconds) / 3, straySize);
    this.height.predict(seconds, (straySize * seconds * seconds) / 3, straySize);
  }

  correct([left, top, width, height]: TrackBox): void {
    const seen = square(SEEN * height);
    const seenSize = square(SEEN_SIZE * height);
    this.x.correct(left + width / 2, seen);
    this.y.correct(top + height / 2, seen);
    this.width.correct(width, seenSize);
    this.height.correct(height, seenSize);
  }

  get box(): TrackBox {
    const width = Math.max(this.width.position, 1e-6);
    const height = Math.max(this.height.position, 1e-6);
    return [this.x.position - width / 2, this.y.position - height / 2, width, height];
  }
}
