import { pick } from "./candidates.ts";
import type { Candidates } from "./decoder.ts";
import { Groups } from "./groups.ts";

/** Indices by falling score; of equal scores the earlier candidate comes first. */
export function rank(scores: Float32Array): Uint32Array {
  const order = new Uint32Array(scores.length);
  let isSorted = true;
  for (let i = 0; i < order.length; i++) {
    order[i] = i;
    if (i > 0 && !((scores[i - 1] as number) >= (scores[i] as number))) isSorted = false;
  }
  // Networks that pick their best candidates themselves list them so, and sorting calls back a thousand times.
  if (isSorted) return order;
  return order.sort((a, b) => (scores[b] as number) - (scores[a] as number) || a - b);
}

/** What two boxes share, in square pixels. */
export function intersect(boxes: Float32Array, a: number, b: number): number {
  const at = 4 * a;
  const bt = 4 * b;
  const width =
    Math.min(boxes[at + 2] as number, boxes[bt + 2] as number) - Math.max(boxes[at] as number, boxes[bt] as number);
  if (width <= 0) return 0;
  const height =
    Math.min(boxes[at + 3] as number, boxes[bt + 3] as number) -
    Math.max(boxes[at + 1] as number, boxes[bt + 1] as number);
  return height <= 0 ? 0 : width * height;
}

export function areaOf(boxes: Float32Array, index: number): number {
  const at = 4 * index;
  return ((boxes[at + 2] as number) - (boxes[at] as number)) * ((boxes[at + 3] as number) - (boxes[at + 1] as number));
}

export interface Suppression {
  /** Candidates of one class that overlap more than this are one object. */
  readonly overlap: number;
  /** Objects at most. */
  readonly limit: number;
  /** Whether an object should have been found more than once: its score is then the mean of the two best of its group. */
  readonly isFoundOften?: boolean;
}

/**
 * One box for each group of candidates, best first. A group is what overlaps its best candidate; its box is the mean of
 * all of them weighted by score, which lies nearer the object than the best candidate's own.
 */
export function suppress(candidates: Candidates, { overlap, limit, isFoundOften }: Suppression): Candidates {
  const { boxes, scores, classIds } = candidates;
  const order = rank(scores);
  const kept = new Uint32Array(Math.min(limit, order.length));
  const groups = new Groups(kept.length);
  // Those kept of a class are a chain, latest first: candidates are compared with their own class alone.
  const latest = new Map<number, number>();
  const before = new Int32Array(kept.length);
  const areas = new Float64Array(kept.length);
  let count = 0;
  for (let i = 0; i < order.length; i++) {
    const index = order[i] as number;
    const classId = classIds[index] as number;
    const area = areaOf(boxes, index);
    let group = -1;
    let most = overlap;
    for (let link = latest.get(classId) ?? -1; link >= 0; link = before[link] as number) {
      const other = kept[link] as number;
      const shared = intersect(boxes, index, other);
      if (shared === 0) continue;
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
