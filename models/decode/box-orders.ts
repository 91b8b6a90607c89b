import type { CandidateList } from "./candidates.ts";
import type { BoxOrder, BoxUnits } from "./options.ts";

/** Adds the box whose four numbers begin at `at`; `scaleX` and `scaleY` bring them to pixels of the input. */
export type AddBox = (
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

export const scaleOf = (
  units: BoxUnits,
  { width, height }: { readonly width: number; readonly height: number },
): Scale => (units === "fractions" ? { x: width, y: height } : { x: 1, y: 1 });

const value = (data: Float32Array, at: number): number => data[at] as number;

export const BOX_ORDERS: Readonly<Record<BoxOrder, AddBox>> = {
  ltrb(list, data, at, { x, y }, score, classId) {
    list.add(
      value(data, at) * x,
      value(data, at + 1) * y,
      value(data, at + 2) * x,
      value(data, at + 3) * y,
      score,
      classId,
    );
  },
  tlbr(list, data, at, { x, y }, score, classId) {
    list.add(
      value(data, at + 1) * x,
      value(data, at) * y,
      value(data, at + 3) * x,
      value(data, at + 2) * y,
      score,
      classId,
    );
  },
  cxcywh(list, data, at, { x, y }, score, classId) {
    const halfWidth = (value(data, at + 2) * x) / 2;
    const halfHeight = (value(data, at + 3) * y) / 2;
    const centreX = value(data, at) * x;
    const centreY = value(data, at + 1) * y;
    list.add(centreX - halfWidth, centreY - halfHeight, centreX + halfWidth, centreY + halfHeight, score, classId);
  },
};
