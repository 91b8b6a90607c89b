import { pick } from "./candidates.ts";
import type { Candidates } from "./decoder.ts";

/** Indices by falling score; of equal scores the earlier candidate comes first. */
export function rank(scores: Float32Array): Uint32Array {
  const order = new Uint32Array(scores.length);
  for (let i = 0; i < order.length; i++) order[i] = i;
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

/** Keeps the best of candidates of one class that overlap more than `overlap`; at most `limit`, best first. */
export function suppress(candidates: Candidates, overlap: number, limit: number): Candidates {
  const { boxes, scores, classIds } = candidates;
  const order = rank(scores);
  const kept = new Uint32Array(Math.min(limit, order.length));
  // Those kept of a class are a chain, latest first: candidates are compared with their own class alone.
  const latest = new Map<number, number>();
  const before = new Int32Array(kept.length);
  let count = 0;
  for (let i = 0; i < order.length && count < kept.length; i++) {
    const index = order[i] as number;
    const classId = classIds[index] as number;
    const area = areaOf(boxes, index);
    let link = latest.get(classId) ?? -1;
    for (; link >= 0; link = before[link] as number) {
      const other = kept[link] as number;
      const shared = intersect(boxes, index, other);
      if (shared > overlap * (area + areaOf(boxes, other) - shared)) break;
    }
    if (link >= 0) continue;
    before[count] = latest.get(classId) ?? -1;
    latest.set(classId, count);
    kept[count] = index;
    count += 1;
  }
  return pick(candidates, kept, count);
}
