/** A car as planes with opacity, made once and put into pictures at any size. */
import { box, Picture } from "../golden/picture.fixture.ts";
import { drawCar } from "../golden/things.fixture.ts";
import type { Target } from "./world.ts";

/** In lengths of the car: how high it is, from where its wheels touch the ground. */
export const CAR_HEIGHT = 0.405;

const LENGTH = 256;
const MARGIN = 12;
const WHEELS_BELOW = 0.025;

export interface Sprite {
  readonly width: number;
  readonly height: number;
  /** Pixels a length of the car. */
  readonly length: number;
  /** The point that stands on the ground. */
  readonly footX: number;
  readonly footY: number;
  readonly y: Float32Array;
  readonly u: Float32Array;
  readonly v: Float32Array;
  /** From 0 to 1. */
  readonly opacity: Float32Array;
}

export function makeCar(colour: Target["colour"], flip: 1 | -1): Sprite {
  const width = LENGTH + MARGIN * 2;
  const height = Math.ceil(LENGTH * CAR_HEIGHT) + MARGIN * 2;
  const footX = width / 2;
  const footY = height - MARGIN;
  // On black and on white: what differs is what shines through.
  const [onBlack, onWhite] = [0, 255].map((shade) => {
    const picture = new Picture(width, height);
    picture.fill(box(0, 0, width, height), [shade, shade, shade]);
    drawCar(picture, footX, footY - LENGTH * WHEELS_BELOW, LENGTH, colour, flip);
    return picture.rgb;
  });
  const size = width * height;
  const planes = [0, 1, 2, 3].map(() => new Float32Array(size));
  const [y, u, v, opacity] = planes as [Float32Array, Float32Array, Float32Array, Float32Array];
  for (let at = 0; at < size; at++) {
    const [red, green, blue] = [0, 1, 2].map((channel) => onBlack?.[at * 3 + channel] ?? 0) as [number, number, number];
    const share = 1 - ((onWhite?.[at * 3] ?? 0) - red) / 255;
    opacity[at] = share;
    // Colours are premultiplied: what they add to the ground that shines through. BT.601, studio range.
    y[at] = 16 * share + (65.481 * red + 128.553 * green + 24.966 * blue) / 255;
    u[at] = 128 * share + (-37.797 * red - 74.203 * green + 112 * blue) / 255;
    v[at] = 128 * share + (112 * red - 93.786 * green - 18.214 * blue) / 255;
  }
  return { width, height, length: LENGTH, footX, footY, y, u, v, opacity };
}
