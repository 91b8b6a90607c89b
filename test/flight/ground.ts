/** A tile of ground as planes of luma and chroma: fields, roads and enough grain that motion can be seen in it. */
import { Random } from "./random.ts";
import { ROADS } from "./world.ts";

export interface Ground {
  /** Texels a side, a power of two; the tile repeats. */
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

/** Sums of smooth noise, each with so many cells to the tile and so high; it repeats without a seam. */
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
