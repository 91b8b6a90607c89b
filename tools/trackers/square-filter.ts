import { Axis } from "../../elements/track/kalman.ts";
import type { TrackBox } from "../../elements/track/mot-tracker.ts";

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
