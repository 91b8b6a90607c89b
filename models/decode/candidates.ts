/** Lists of candidate boxes, and the orders in which networks write the four numbers of a box. */
import type { Candidates, Decoder, Outputs, Size } from "./decoder.ts";
import type { BoxOrder, BoxUnits } from "./options.ts";

const FIRST_ROOM = 256;

/** Collects candidates in arrays that are reused from frame to frame: adding one allocates nothing. */
export class CandidateList {
  #boxes = new Float32Array(4 * FIRST_ROOM);
  #scores = new Float32Array(FIRST_ROOM);
  #classIds = new Int32Array(FIRST_ROOM);
  #count = 0;

  clear(): void {
    this.#count = 0;
  }

  /** Ignores boxes without area, and boxes with NaN or infinite edges. */
  add(left: number, top: number, right: number, bottom: number, score: number, classId: number): void {
    const area = (right - left) * (bottom - top);
    if (!(right > left && bottom > top && area < Number.POSITIVE_INFINITY)) return;
    const index = this.#count;
    if (index === this.#scores.length) this.#grow();
    const at = 4 * index;
    this.#boxes[at] = left;
    this.#boxes[at + 1] = top;
    this.#boxes[at + 2] = right;
    this.#boxes[at + 3] = bottom;
    this.#scores[index] = score;
    this.#classIds[index] = classId;
    this.#count = index + 1;
  }

  addCentred(x: number, y: number, width: number, height: number, score: number, classId: number): void {
    this.add(x - width / 2, y - height / 2, x + width / 2, y + height / 2, score, classId);
  }

  /** A copy, valid beyond the next frame. */
  copy(): Candidates {
    return {
      count: this.#count,
      boxes: this.#boxes.slice(0, 4 * this.#count),
      scores: this.#scores.slice(0, this.#count),
      classIds: this.#classIds.slice(0, this.#count),
    };
  }

  #grow(): void {
    const room = 2 * this.#scores.length;
    this.#boxes = copyInto(new Float32Array(4 * room), this.#boxes);
    this.#scores = copyInto(new Float32Array(room), this.#scores);
    this.#classIds = copyInto(new Int32Array(room), this.#classIds);
  }
}

function copyInto<T extends Float32Array | Int32Array>(target: T, source: T): T {
  target.set(source);
  return target;
}

/** A decoder around a function that adds its candidates to a list. */
export function collect(add: (list: CandidateList, outputs: Outputs, minimum: number) => void): Decoder {
  const list = new CandidateList();
  return {
    decode(outputs, minimum) {
      list.clear();
      add(list, outputs, minimum);
      return list.copy();
    },
  };
}

/** The candidates at these indices, in this order. */
export function pick({ boxes, scores, classIds }: Candidates, indices: ArrayLike<number>, count: number): Candidates {
  const picked = {
    count,
    boxes: new Float32Array(4 * count),
    scores: new Float32Array(count),
    classIds: new Int32Array(count),
  };
  for (let i = 0; i < count; i++) {
    const index = indices[i] ?? 0;
    for (let to = 4 * i, from = 4 * index; to < 4 * i + 4; to++, from++) picked.boxes[to] = boxes[from] as number;
    picked.scores[i] = scores[index] ?? 0;
    picked.classIds[i] = classIds[index] ?? 0;
  }
  return picked;
}

/** Adds the box whose four numbers begin at `at`; `scale` converts them to pixels of the input. */
type AddBox = (
  list: CandidateList,
  data: Float32Array,
  at: number,
  scale: Scale,
  score: number,
  classId: number,
) => void;

export interface Scale {
  readonly x: number;
  readonly y: number;
}

export const scaleOf = (units: BoxUnits, { width, height }: Size): Scale =>
  units === "fractions" ? { x: width, y: height } : { x: 1, y: 1 };

/** The offsets of the four edges in a box. */
const addEdges =
  (left: number, top: number, right: number, bottom: number): AddBox =>
  (list, data, at, { x, y }, score, classId) => {
    const l = (data[at + left] as number) * x;
    const t = (data[at + top] as number) * y;
    const r = (data[at + right] as number) * x;
    const b = (data[at + bottom] as number) * y;
    list.add(l, t, r, b, score, classId);
  };

export const BOX_ORDERS: Readonly<Record<BoxOrder, AddBox>> = {
  ltrb: addEdges(0, 1, 2, 3),
  tlbr: addEdges(1, 0, 3, 2),
  cxcywh(list, data, at, { x, y }, score, classId) {
    const value = (offset: number): number => data[at + offset] as number;
    list.addCentred(value(0) * x, value(1) * y, value(2) * x, value(3) * y, score, classId);
  },
};
