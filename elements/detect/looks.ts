/** The parts of a frame that are looked at, each by an inference of its own. */
import type { TensorOrder } from "../element.ts";

/** In fractions of the frame. */
export type Region = NonNullable<TensorOrder["region"]>;

export interface Tiles {
  readonly columns: number;
  readonly rows: number;
  /** Of a tile, shared with its neighbour; 0.2 unless it is said. */
  readonly overlap?: number;
  /** The undivided picture as well, for what is too large for a tile; so it is unless it is said. */
  readonly whole?: boolean;
}

export const WHOLE: Region = { x: 0, y: 0, width: 1, height: 1 };
/** What adding up decimal fractions may be off by. */
const SLACK = 1e-9;

/** Tiles row by row, then the whole. Throws for a region that is not within the frame. */
export function listLooks(roi: Region | null, tiles: Tiles | null): readonly Region[] {
  const within = roi ?? WHOLE;
  if (within.x + within.width > 1 + SLACK || within.y + within.height > 1 + SLACK) {
    throw new Error(
      `roi reaches beyond the frame: x + width is ${round(within.x + within.width)}, y + height is ${round(within.y + within.height)}; both are fractions of the frame and at most 1`,
    );
  }
  if (tiles === null) return [within];
  const { columns, rows, overlap = 0.2, whole = true } = tiles;
  const across = divide(within.x, within.width, columns, overlap);
  const down = divide(within.y, within.height, rows, overlap);
  const regions = down.flatMap(([y, height]) => across.map(([x, width]) => ({ x, y, width, height })));
  return whole && regions.length > 1 ? [...regions, within] : regions;
}

/** `count` parts of one length that cover `length` and share `overlap` of themselves with the next. */
function divide(start: number, length: number, count: number, overlap: number): readonly (readonly [number, number])[] {
  const part = length / (count - (count - 1) * overlap);
  const step = part * (1 - overlap);
  return Array.from({ length: count }, (_, index) => [start + index * step, part] as const);
}

const round = (value: number): number => Math.round(value * 1e6) / 1e6;
