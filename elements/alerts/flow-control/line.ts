/** The line that tracks cross, in a plane where y goes down: the right of it is where `sideOf` is positive. */
import type { Sighting } from "../alert-type.ts";
import { type Space, unwrapDeg, xOf, yOf } from "../where.ts";

/** Boxes sway by less than this share of their size. */
const SWAY = 0.05;
const SWAY_M = 0.5;
const METRES_A_DEGREE = 111_320;

export class Line {
  readonly #space: Space;
  readonly #x: number;
  readonly #y: number;
  readonly #right: number;
  readonly #down: number;
  /** A degree of longitude is shorter than one of latitude by this. */
  readonly #narrow: number;

  constructor(space: Space, [a, b]: readonly [readonly [number, number], readonly [number, number]]) {
    const isGeo = space === "geo";
    this.#space = space;
    this.#narrow = isGeo ? Math.max(Math.cos((((a[1] + b[1]) / 2) * Math.PI) / 180), 1e-6) : 1;
    this.#x = a[0];
    this.#y = isGeo ? -a[1] : a[1];
    this.#right = isGeo ? unwrapDeg(b[0], a[0]) - a[0] : b[0] - a[0];
    this.#down = (isGeo ? -b[1] : b[1]) - this.#y;
  }

  /** Where a track is, from the first point of the line; NaN where it is not known. */
  xOf(sighting: Sighting): number {
    const x = xOf(sighting, this.#space);
    return (this.#space === "geo" ? unwrapDeg(x, this.#x) : x) - this.#x;
  }

  yOf(sighting: Sighting): number {
    const y = yOf(sighting, this.#space);
    return (this.#space === "geo" ? -y : y) - this.#y;
  }

  /** Grows with the distance from the infinite line; 0 on it. */
  sideOf(x: number, y: number): number {
    return this.#right * y - this.#down * x;
  }

  /** What `sideOf` may change by though the track stands still. */
  swayOf({ track }: Sighting): number {
    if (this.#space === "image")
      return SWAY * (Math.abs(this.#right) * track.box[3] + Math.abs(this.#down) * track.box[2]);
    // The length of the line in metres times the sway in metres, in square degrees of this latitude.
    return (Math.hypot(this.#right * this.#narrow, this.#down) * (SWAY_M / METRES_A_DEGREE)) / this.#narrow;
  }

  /** Whether the way from one point to another, on different sides, goes between the ends of the line or through one. */
  isPassed(fromX: number, fromY: number, toX: number, toY: number): boolean {
    const from = this.sideOf(fromX, fromY);
    const span = from - this.sideOf(toX, toY);
    // How far along the line the two meet, times its length squared and the span: no division, nothing is rounded away.
    const along =
      (fromX * this.#right + fromY * this.#down) * span +
      from * ((toX - fromX) * this.#right + (toY - fromY) * this.#down);
    const end = (this.#right * this.#right + this.#down * this.#down) * span;
    return span > 0 ? along >= 0 && along <= end : along <= 0 && along >= end;
  }
}
