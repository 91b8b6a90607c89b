import { pick } from "./candidates.ts";
import type { Candidates } from "./decoder.ts";

/** Indices by descending score; candidates of equal score keep their order. */
export function rank(scores: Float32Array): Uint32Array {
  const order = new Uint32Array(scores.length);
  let isSorted = true;
  for (let i = 0; i < order.length; i++) {
    order[i] = i;
    if (i > 0 && !((scores[i - 1] as number) >= (scores[i] as number))) isSorted = false;
  }
  // Networks that select their best candidates output them sorted; this saves a thousand calls of the comparator.
  if (isSorted) return order;
  return order.sort((a, b) => (scores[b] as number) - (scores[a] as number) || a - b);
}

export function areaOf(boxes: Float32Array, index: number): number {
  const at = 4 * index;
  return ((boxes[at + 2] as number) - (boxes[at] as number)) * ((boxes[at + 3] as number) - (boxes[at + 1] as number));
}

interface Suppression {
  /** Candidates of one class that overlap more than this are one object. */
  readonly overlap: number;
  /** Maximum number of objects. */
  readonly limit: number;
  /** The network finds an object more than once: its score is then the mean of the two best of its group. */
  readonly isFoundOften?: boolean;
}

/**
 * One box per group of candidates, best first. A group contains the candidates that overlap its best one; its box is
 * their mean weighted by score, which is closer to the object than the best candidate's own box.
 */
export function suppress(candidates: Candidates, { overlap, limit, isFoundOften }: Suppression): Candidates {
  const { boxes, scores, classIds } = candidates;
  const order = rank(scores);
  const kept = new Uint32Array(Math.min(limit, order.length));
  const groups = new Groups(kept.length);
  // The kept candidates of a class form a linked list, latest first: candidates are only compared within their class.
  const latest = new Map<number, number>();
  const before = new Int32Array(kept.length);
  const areas = new Float64Array(kept.length);
  let count = 0;
  for (let i = 0; i < order.length; i++) {
    const index = order[i] as number;
    const classId = classIds[index] as number;
    const area = areaOf(boxes, index);
    const at = 4 * index;
    const left = boxes[at] as number;
    const top = boxes[at + 1] as number;
    const right = boxes[at + 2] as number;
    const bottom = boxes[at + 3] as number;
    let group = -1;
    let most = overlap;
    // The hot loop: most pairs are apart, which comparisons find faster than an intersection.
    for (let link = latest.get(classId) ?? -1; link >= 0; link = before[link] as number) {
      const other = 4 * (kept[link] as number);
      const otherLeft = boxes[other] as number;
      const otherRight = boxes[other + 2] as number;
      if (otherLeft >= right || otherRight <= left) continue;
      const otherTop = boxes[other + 1] as number;
      const otherBottom = boxes[other + 3] as number;
      if (otherTop >= bottom || otherBottom <= top) continue;
      const width = (right < otherRight ? right : otherRight) - (left > otherLeft ? left : otherLeft);
      const height = (bottom < otherBottom ? bottom : otherBottom) - (top > otherTop ? top : otherTop);
      const shared = width * height;
      const share = shared / (area + (areas[link] as number) - shared);
      if (share <= most) continue;
      most = share;
      group = link;
    }
    if (group < 0) {
      if (count === kept.length) continue;
      before[count] = latest.get(classId) ?? -1;
      latest.set(classId, count);
      kept[count] = index;
      areas[count] = area;
      group = count;
      count += 1;
    }
    groups.add(group, boxes, index, scores[index] as number);
  }
  const best = pick(candidates, kept, count);
  groups.writeBoxes(best.boxes, count);
  if (!isFoundOften) return best;
  groups.writeScores(best.scores, count);
  return pick(best, rank(best.scores), count);
}

/** Accumulates the candidates of each group, best first. */
class Groups {
  /** Sums of boxes, weighted by score. */
  readonly #sums: Float64Array;
  readonly #weights: Float64Array;
  readonly #counts: Uint32Array;
  readonly #bestTwo: Float64Array;

  constructor(most: number) {
    this.#sums = new Float64Array(4 * most);
    this.#weights = new Float64Array(most);
    this.#counts = new Uint32Array(most);
    this.#bestTwo = new Float64Array(most);
  }

  add(group: number, boxes: Float32Array, index: number, score: number): void {
    const count = (this.#counts[group] as number) + 1;
    this.#counts[group] = count;
    if (count <= 2) this.#bestTwo[group] = (this.#bestTwo[group] as number) + score;
    this.#weights[group] = (this.#weights[group] as number) + score;
    for (let at = 4 * group, from = 4 * index; at < 4 * group + 4; at++, from++)
      this.#sums[at] = (this.#sums[at] as number) + score * (boxes[from] as number);
  }

  /** A group of one, or without weight, keeps the box of its best candidate. */
  writeBoxes(boxes: Float32Array, count: number): void {
    for (let group = 0; group < count; group++) {
      const weight = this.#weights[group] as number;
      if ((this.#counts[group] as number) < 2 || weight <= 0) continue;
      for (let at = 4 * group; at < 4 * group + 4; at++) boxes[at] = (this.#sums[at] as number) / weight;
    }
  }

  /** The mean of the two best scores: an object that was found only once gets half its score. */
  writeScores(scores: Float32Array, count: number): void {
    for (let group = 0; group < count; group++) scores[group] = (this.#bestTwo[group] as number) / 2;
  }
}
