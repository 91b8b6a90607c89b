/** One output of rows of six numbers: a box, a score and a class for each object. */
import { BOX_ORDERS, type Scale } from "./box-orders.ts";
import { CandidateList } from "./candidates.ts";
import type { Decoder } from "./decoder.ts";
import { readFloats } from "./tensors.ts";

export const ROW = 6;

export interface Rows {
  readonly name: string;
  /** Whether the shape begins with a batch of one. */
  readonly isBatched: boolean;
  /** Where in a row the left edge is, the score and the class. */
  readonly box: number;
  readonly score: number;
  readonly class: number;
  readonly scale: Scale;
  readonly classCount: number;
}

export function decodeRows({ name, isBatched, box, scale, classCount, ...at }: Rows): Decoder {
  const list = new CandidateList();
  const pattern = isBatched ? [1, null, ROW] : [null, ROW];
  return {
    decode(outputs, minimum) {
      list.clear();
      const { data } = readFloats(outputs, name, pattern);
      for (let row = 0; row < data.length; row += ROW) {
        const score = data[row + at.score] as number;
        const id = data[row + at.class] as number;
        if (score >= minimum && id >= 0 && id < classCount) BOX_ORDERS.ltrb(list, data, row + box, scale, score, id);
      }
      return list.copy();
    },
  };
}
