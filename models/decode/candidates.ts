import type { Candidates } from "./decoder.ts";

const FIRST_ROOM = 256;

/** Gathers candidates in arrays that are kept from frame to frame: nothing is allocated for a single one. */
export class CandidateList {
  #boxes = new Float32Array(4 * FIRST_ROOM);
  #scores = new Float32Array(FIRST_ROOM);
  #classIds = new Int32Array(FIRST_ROOM);
  #count = 0;

  clear(): void {
    this.#count = 0;
  }

  /** Boxes without area, or that are not numbers, are left out. */
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

  /** A copy of what was gathered: it outlives the next frame. */
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

/** Those at the indices given, in their order. */
export function pick({ boxes, scores, classIds }: Candidates, indices: ArrayLike<number>, count: number): Candidates {
  const picked = {
    count,
    boxes: new Float32Array(4 * count),
    scores: new Float32Array(count),
    classIds: new Int32Array(count),
  };
  for (let i = 0; i < count; i++) {
    const index = indices[i] ?? 0;
    picked.boxes.set(boxes.subarray(4 * index, 4 * index + 4), 4 * i);
    picked.scores[i] = scores[index] ?? 0;
    picked.classIds[i] = classIds[index] ?? 0;
  }
  return picked;
}
