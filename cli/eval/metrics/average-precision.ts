/** Average precision of one class at one overlap, by the rules of COCO. */
import { overlapOf } from "./compare.ts";

/** A picture: where objects are, and where they were said to be. Boxes are left, top, width, height. */
export interface Picture {
  readonly truth: readonly (readonly number[])[];
  readonly found: readonly { readonly box: readonly number[]; readonly score: number }[];
}

/** As COCO has it: of each picture the most confident. */
const MOST_A_PICTURE = 100;
const RECALLS = 101;

/**
 * The mean over 101 recalls, 0 to 1, of the best precision at that recall or beyond; 0 where there is no object. Each
 * detection, most confident first, takes the free object that it overlaps most, if by `overlap` or more.
 */
export function averagePrecision(pictures: readonly Picture[], overlap: number): number {
  const objects = pictures.reduce((sum, { truth }) => sum + truth.length, 0);
  if (objects === 0) return 0;
  const judged = pictures.flatMap((picture) => judge(picture, overlap)).sort((a, b) => b.score - a.score);
  const precisions: number[] = [];
  const recalls: number[] = [];
  let right = 0;
  for (const [index, { isRight }] of judged.entries()) {
    if (isRight) right += 1;
    precisions.push(right / (index + 1));
    recalls.push(right / objects);
  }
  for (let index = precisions.length - 2; index >= 0; index--)
    precisions[index] = Math.max(precisions[index] as number, precisions[index + 1] as number);
  let sum = 0;
  for (let step = 0, at = 0; step < RECALLS; step++) {
    while (at < recalls.length && (recalls[at] as number) < step / (RECALLS - 1)) at += 1;
    sum += precisions[at] ?? 0;
  }
  return sum / RECALLS;
}

function judge(
  { truth, found }: Picture,
  least: number,
): readonly { readonly score: number; readonly isRight: boolean }[] {
  const isTaken = truth.map(() => false);
  const sorted = [...found].sort((a, b) => b.score - a.score).slice(0, MOST_A_PICTURE);
  return sorted.map(({ box, score }) => {
    let best = -1;
    let bestOverlap = least - 1e-10;
    for (const [index, object] of truth.entries()) {
      const overlap = isTaken[index] ? 0 : overlapOf(object, 0, box, 0);
      if (overlap < bestOverlap || overlap === 0) continue;
      best = index;
      bestOverlap = overlap;
    }
    if (best !== -1) isTaken[best] = true;
    return { score, isRight: best !== -1 };
  });
}
