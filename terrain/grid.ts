/** Heights of the ground in a regular grid of latitude and longitude, read from a file block by block. */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";

/** One file. Its first sample is the one in the north-west. */
export interface Grid {
  readonly path: string;
  /** Samples from west to east, and from north to south. */
  readonly columns: number;
  readonly rows: number;
  /** Of the first sample, degrees. */
  readonly west: number;
  readonly north: number;
  /** Between samples, degrees. */
  readonly stepEast: number;
  readonly stepSouth: number;
  /** What heights refer to: mean sea level (EGM96 or a geoid within about a metre of it), or the WGS-84 ellipsoid. */
  readonly datum: "geoid" | "ellipsoid";
  /** Size of a block; those at the edges may contain fewer samples than this, padded to it. */
  readonly blockColumns: number;
  readonly blockRows: number;
  /** Metres, row by row from the north-west; NaN where the height is unknown. Throws if the file cannot be read. */
  readBlock(right: number, down: number): Float32Array;
}

/** A file that is not a usable grid: what was expected, and what to do. */
export class GridFault extends Error {
  override readonly name = "GridFault";
}

/** Metres between samples from north to south: the measure by which one grid is finer than another. */
export const spacingM = ({ stepSouth }: Grid): number => stepSouth * 111_132;

/**
 * Whether the place is inside the grid. Half a step beyond the outermost samples belongs to it: files whose samples are
 * the middles of areas meet there.
 */
export function covers(grid: Grid, latitude: number, longitude: number): boolean {
  const right = (longitude - grid.west) / grid.stepEast;
  const down = (grid.north - latitude) / grid.stepSouth;
  return right >= -0.5 && right <= grid.columns - 0.5 && down >= -0.5 && down <= grid.rows - 0.5;
}

/** Blocks of all grids, up to this size together; the least recently used are dropped. */
const CACHE_BYTES = 64 * 2 ** 20;

/** Reads heights of grids. Synchronous: a block is at most some megabytes of a local file. */
export class GridReader {
  readonly #blocks = new Map<Grid, Map<number, Float32Array>>();
  /** In order of their last use. */
  readonly #used = new Map<Float32Array, { readonly grid: Grid; readonly key: number }>();
  readonly #onFault: (grid: Grid, error: Error) => void;
  readonly #maxBytes: number;
  #bytes = 0;
  /** The block of the last sample: neighbours are mostly in the same one. */
  #last: { readonly grid: Grid; readonly key: number; readonly block: Float32Array } | null = null;

  /** `onFault`: a block cannot be read; its heights are unknown from then on. */
  constructor(onFault: (grid: Grid, error: Error) => void, maxBytes = CACHE_BYTES) {
    this.#onFault = onFault;
    this.#maxBytes = maxBytes;
  }

  /** Of the blocks in memory. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Bilinear between samples; NaN next to an unknown one. The place must be covered. In the datum of the grid. */
  heightAt(grid: Grid, latitude: number, longitude: number): number {
    const right = (longitude - grid.west) / grid.stepEast;
    const down = (grid.north - latitude) / grid.stepSouth;
    const column = Math.max(0, Math.min(grid.columns - 2, Math.floor(right)));
    const row = Math.max(0, Math.min(grid.rows - 2, Math.floor(down)));
    const [x, y] = [right - column, down - row];
    const north = this.#sample(grid, column, row) * (1 - x) + this.#sample(grid, column + 1, row) * x;
    const south = this.#sample(grid, column, row + 1) * (1 - x) + this.#sample(grid, column + 1, row + 1) * x;
    return north * (1 - y) + south * y;
  }

  #sample(grid: Grid, column: number, row: number): number {
    const right = Math.floor(column / grid.blockColumns);
    const down = Math.floor(row / grid.blockRows);
    const key = down * Math.ceil(grid.columns / grid.blockColumns) + right;
    const last = this.#last;
    const block =
      last !== null && last.grid === grid && last.key === key ? last.block : this.#open(grid, key, right, down);
    return block[(row - down * grid.blockRows) * grid.blockColumns + column - right * grid.blockColumns] as number;
  }

  #open(grid: Grid, key: number, right: number, down: number): Float32Array {
    const known = this.#blocks.get(grid)?.get(key);
    const block = known ?? this.#read(grid, right, down);
    this.#used.delete(block);
    this.#used.set(block, { grid, key });
    if (known === undefined) this.#keep(grid, key, block);
    this.#last = { grid, key, block };
    return block;
  }

  #read(grid: Grid, right: number, down: number): Float32Array {
    try {
      return grid.readBlock(right, down);
    } catch (error) {
      this.#onFault(grid, error as Error);
      return new Float32Array(grid.blockColumns * grid.blockRows).fill(Number.NaN);
    }
  }

  #keep(grid: Grid, key: number, block: Float32Array): void {
    const blocks = this.#blocks.get(grid) ?? new Map<number, Float32Array>();
    this.#blocks.set(grid, blocks.set(key, block));
    this.#bytes += block.byteLength;
    for (const [old, place] of this.#used) {
      if (this.#bytes <= this.#maxBytes || old === block) return;
      this.#used.delete(old);
      this.#blocks.get(place.grid)?.delete(place.key);
      this.#bytes -= old.byteLength;
    }
  }
}

/** Reads parts of a file. Throws `GridFault` beyond its end. */
export function readParts<T>(path: string, use: (read: (at: number, bytes: number) => Buffer, size: number) => T): T {
  const file = openSync(path, "r");
  try {
    const { size } = fstatSync(file);
    return use((at, bytes) => {
      if (!(at >= 0 && bytes >= 0 && at + bytes <= size))
        throw new GridFault(`the file ends early: expected ${bytes} bytes at ${at}, it has ${size}`);
      const buffer = Buffer.alloc(bytes);
      let filled = 0;
      while (filled < bytes) {
        const got = readSync(file, buffer, filled, bytes - filled, at + filled);
        if (got === 0) throw new GridFault(`the file ends early: ${at + filled} of ${at + bytes} bytes could be read`);
        filled += got;
      }
      return buffer;
    }, size);
  } finally {
    closeSync(file);
  }
}
