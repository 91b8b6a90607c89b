/** Objects and tracks numbered from 0, and the overlap of every pair of boxes of a frame: the input of all scores. */

export interface ComparedFrame {
  /** Objects in the frame, by number. */
  readonly objects: Int32Array;
  /** Tracks in the frame, by number. */
  readonly tracks: Int32Array;
  /** Intersection over union of each object (row) with each track (column). */
  readonly overlaps: Float64Array;
}

/** Shared by all empty frames. */
const EMPTY: ComparedFrame = {
  objects: new Int32Array(0),
  tracks: new Int32Array(0),
  overlaps: new Float64Array(0),
};

export interface Comparison {
  /** The id of each object in the ground truth, by its number. */
  readonly objectIds: readonly number[];
  /** The id of each track in the results, by its number. */
  readonly trackIds: readonly number[];
  readonly frames: readonly ComparedFrame[];
}

/** Throws if an id occurs twice in a frame. */
export function compare({ name, truth, results }: MotSequence): Comparison {
  if (truth.length !== results.length)
    throw new Error(`${name} has ${truth.length} frames of ground truth, but ${results.length} of results`);
  const objects = new Numbering(`ground truth of ${name}`);
  const tracks = new Numbering(`results of ${name}`);
  const frames = truth.map((truly, index): ComparedFrame => {
    const result = results[index] as FrameBoxes;
    if (truly.ids.length === 0 && result.ids.length === 0) return EMPTY;
    return {
      objects: objects.number(truly.ids, index + 1),
      tracks: tracks.number(result.ids, index + 1),
      overlaps: overlapsOf(truly.boxes, result.boxes),
    };
  });
  return { objectIds: objects.ids, trackIds: tracks.ids, frames };
}

class Numbering {
  readonly ids: number[] = [];
  readonly #of: string;
  readonly #numbers = new Map<number, number>();
  /** The frame in which each was seen last. */
  readonly #seen: number[] = [];

  constructor(of: string) {
    this.#of = of;
  }

  number(ids: readonly number[], frame: number): Int32Array {
    return Int32Array.from(ids, (id) => {
      const number = this.#numbers.get(id) ?? this.#add(id);
      if (this.#seen[number] === frame) throw new Error(`${this.#of}: id ${id} occurs twice in frame ${frame}`);
      this.#seen[number] = frame;
      return number;
    });
  }

  #add(id: number): number {
    const number = this.ids.push(id) - 1;
    this.#numbers.set(id, number);
    return number;
  }
}

/** A row for each box of `a`, a column for each of `b`; both lists of left, top, width, height. */
export function overlapsOf(a: Float64Array, b: Float64Array): Float64Array {
  const columns = b.length / 4;
  const overlaps = new Float64Array((a.length / 4) * columns);
  for (let row = 0; row * 4 < a.length; row++)
    for (let column = 0; column < columns; column++)
      overlaps[row * columns + column] = overlapOf(a, row * 4, b, column * 4);
  return overlaps;
}

/** Intersection over union of the boxes at these offsets; 0 for a box without area. */
export function overlapOf(a: ArrayLike<number>, i: number, b: ArrayLike<number>, j: number): number {
  const [aLeft, aTop, aWidth, aHeight] = [a[i] as number, a[i + 1] as number, a[i + 2] as number, a[i + 3] as number];
  const [bLeft, bTop, bWidth, bHeight] = [b[j] as number, b[j + 1] as number, b[j + 2] as number, b[j + 3] as number];
  const width = Math.min(aLeft + aWidth, bLeft + bWidth) - Math.max(aLeft, bLeft);
  const height = Math.min(aTop + aHeight, bTop + bHeight) - Math.max(aTop, bTop);
  if (width <= 0 || height <= 0) return 0;
  const shared = width * height;
  return shared / (aWidth * aHeight + bWidth * bHeight - shared);
}

/** Boxes of one frame. `boxes` has left, top, width and height for each id. */
export interface FrameBoxes {
  readonly ids: readonly number[];
  readonly boxes: Float64Array;
}

export interface MotSequence {
  readonly name: string;
  /** One for each frame, from the first. */
  readonly truth: readonly FrameBoxes[];
  /** As many as `truth`. */
  readonly results: readonly FrameBoxes[];
}
