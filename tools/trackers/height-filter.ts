import { Axis } from "../../elements/track/kalman.ts";
import type { TrackBox } from "../../elements/track/mot-tracker.ts";

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
