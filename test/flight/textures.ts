/** Textures: a tile of ground (fields, roads, grain for motion estimation), and a car with transparency. */
import { box, drawCar, Picture } from "../golden/picture.fixture.ts";
import { Random, ROADS, type Target } from "./world.ts";

export interface Ground {
  /** Texels per side, a power of two; the tile repeats. */
  readonly size: number;
  readonly texelsPerM: number;
  readonly y: Uint8Array;
  readonly u: Uint8Array;
  readonly v: Uint8Array;
}

const SIZE = 1024;
const TEXELS_PER_M = 10;
const ROAD_HALF_M = 3;
const FIELD_M = 17;

type Yuv = readonly [y: number, u: number, v: number];
const ROAD: Yuv = [92, 128, 127];
const MARK: Yuv = [178, 127, 128];
const VERGE: Yuv = [118, 116, 126];
const FIELDS: readonly Yuv[] = [
  [104, 108, 120],
  [126, 104, 126],
  [138, 102, 136],
  [92, 112, 116],
  [116, 110, 134],
  [148, 106, 132],
];

export function makeGround(): Ground {
  const rough = makeNoise(new Random(7), [
    [4, 10],
    [16, 12],
    [64, 14],
    [256, 16],
    [512, 14],
  ]);
  const y = new Uint8Array(SIZE * SIZE);
  const u = new Uint8Array(SIZE * SIZE);
  const v = new Uint8Array(SIZE * SIZE);
  for (let row = 0; row < SIZE; row++)
    for (let column = 0; column < SIZE; column++) {
      const at = row * SIZE + column;
      const [luma, blue, red] = coverAt(column / TEXELS_PER_M, row / TEXELS_PER_M);
      const isRoad = blue >= 127;
      y[at] = Math.min(235, Math.max(16, luma + (rough[at] ?? 0) * (isRoad ? 0.5 : 1)));
      u[at] = blue;
      v[at] = red;
    }
  return { size: SIZE, texelsPerM: TEXELS_PER_M, y, u, v };
}

function coverAt(east: number, north: number): Yuv {
  const tile = SIZE / TEXELS_PER_M;
  for (const road of ROADS) {
    const off = Math.abs(((north - road.north + tile * 1.5) % tile) - tile / 2);
    if (off < 0.12 && east % 6 < 3) return MARK;
    if (off < ROAD_HALF_M) return ROAD;
    if (off < ROAD_HALF_M + 0.8) return VERGE;
  }
  if (Math.abs(east - 31) < 2.2) return ROAD;
  const field = Math.floor(east / FIELD_M) * 5 + Math.floor(north / 14) * 3;
  const [luma, blue, red] = FIELDS[field % FIELDS.length] ?? VERGE;
  // Furrows.
  const furrow = (field % 2 === 0 ? east : north) % 1.3 < 0.5 ? -11 : 0;
  return [luma + furrow, blue, red];
}

/** Sum of octaves of smooth noise, each with a number of cells per tile and an amplitude; seamless. */
function makeNoise(random: Random, octaves: readonly (readonly [cells: number, height: number])[]): Float32Array {
  const sum = new Float32Array(SIZE * SIZE);
  for (const [cells, height] of octaves) {
    const knots = Float32Array.from({ length: cells * cells }, () => (random.next() * 2 - 1) * height);
    const step = SIZE / cells;
    for (let row = 0; row < SIZE; row++) {
      const top = Math.floor(row / step);
      const down = row / step - top;
      const [above, below] = [top * cells, ((top + 1) % cells) * cells];
      for (let column = 0; column < SIZE; column++) {
        const left = Math.floor(column / step);
        const along = column / step - left;
        const right = (left + 1) % cells;
        const upper = (knots[above + left] ?? 0) * (1 - along) + (knots[above + right] ?? 0) * along;
        const lower = (knots[below + left] ?? 0) * (1 - along) + (knots[below + right] ?? 0) * along;
        const at = row * SIZE + column;
        sum[at] = (sum[at] ?? 0) + upper * (1 - down) + lower * down;
      }
    }
  }
  return sum;
}

/** Height of the car above the ground, in lengths of the car. */
export const CAR_HEIGHT = 0.405;

const LENGTH = 256;
const MARGIN = 12;
const WHEELS_BELOW = 0.025;

export interface Sprite {
  readonly width: number;
  readonly height: number;
  /** Length of the car in pixels. */
  readonly length: number;
  /** The point on the ground. */
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
  // Drawn on black and on white: the difference is the transparency.
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
    // Premultiplied by opacity. BT.601, limited range.
    y[at] = 16 * share + (65.481 * red + 128.553 * green + 24.966 * blue) / 255;
    u[at] = 128 * share + (-37.797 * red - 74.203 * green + 112 * blue) / 255;
    v[at] = 128 * share + (112 * red - 93.786 * green - 18.214 * blue) / 255;
  }
  return { width, height, length: LENGTH, footX, footY, y, u, v, opacity };
}
