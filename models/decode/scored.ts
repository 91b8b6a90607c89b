/** Outputs in two parts: boxes in the input, and a score for every class of each. */
import { BestClasses, toLogit, toProbability } from "./best-class.ts";
import { BOX_ORDERS, type Scale } from "./box-orders.ts";
import { CandidateList } from "./candidates.ts";
import type { LabelTable } from "./class-numbers.ts";
import type { Decoder } from "./decoder.ts";
import type { BoxOrder, ScoreKind } from "./options.ts";
import { readFloats } from "./tensors.ts";

export interface Scored {
  /** Names of the outputs: [1, N, 4], and [1, N, columns] or transposed. */
  readonly boxes: string;
  readonly scores: string;
  readonly isTransposed?: boolean;
  readonly kind: ScoreKind;
  /** Scores of an anchor, those of background and "no object" among them. */
  readonly columns: number;
  /** Classes from `first` to before `end` are objects. */
  readonly first: number;
  readonly end: number;
  readonly order: BoxOrder;
  readonly scale: Scale;
  readonly labels: LabelTable;
}

export function decodeScored(scored: Scored): Decoder {
  const { kind, columns, first, end, order, scale, labels, isTransposed = false } = scored;
  const list = new CandidateList();
  const best = new BestClasses();
  const addBox = BOX_ORDERS[order];
  return {
    decode(outputs, minimum) {
      list.clear();
      const { data: boxes, dims } = readFloats(outputs, scored.boxes, [1, null, 4]);
      const anchors = dims[1] ?? 0;
      const pattern = isTransposed ? [1, columns, anchors] : [1, anchors, columns];
      const { data } = readFloats(outputs, scored.scores, pattern);
      const table = { data, start: 0, anchors, step: columns, first, end };
      const least = kind === "sigmoid" ? toLogit(minimum) : minimum;
      if (kind === "softmax") best.scanSoftmax(table, minimum);
      else if (isTransposed) best.scanColumns(table, least);
      else best.scanRows(table, least);
      for (let anchor = 0; anchor < anchors; anchor++) {
        const label = labels[best.classes[anchor] as number] ?? -1;
        if (label < 0) continue;
        const value = best.scores[anchor] as number;
        addBox(list, boxes, 4 * anchor, scale, kind === "sigmoid" ? toProbability(value) : value, label);
      }
      return list.copy();
    },
  };
}
