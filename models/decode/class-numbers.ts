import type { Numbering } from "./options.ts";

/** Category numbers from 1 to 90 that COCO left out; the 80 labels stand for the rest in order. */
const COCO_GAPS: ReadonlySet<number> = new Set([12, 26, 29, 30, 45, 66, 68, 69, 71, 83]);
const COCO_LAST = 90;

/** Label of each class of the model, -1 where it has none. */
export type LabelTable = Int32Array;

const NUMBERINGS: Readonly<Record<Numbering, (classCount: number) => readonly number[]>> = {
  labels: (classCount) => Array.from({ length: classCount }, (_, i) => i),
  "after-background": (classCount) => Array.from({ length: classCount + 1 }, (_, i) => i - 1),
  "coco-90": (classCount) => {
    let label = 0;
    return Array.from({ length: COCO_LAST + 1 }, (_, id) =>
      id === 0 || COCO_GAPS.has(id) || label === classCount ? -1 : label++,
    );
  },
};

export const numberLabels = (numbering: Numbering, classCount: number): LabelTable =>
  Int32Array.from(NUMBERINGS[numbering](classCount));
