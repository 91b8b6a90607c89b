/** Outputs that are lists already: a box, a score and a class for each object. */
import { BOX_ORDERS, type Scale } from "./box-orders.ts";
import { CandidateList } from "./candidates.ts";
import type { LabelTable } from "./class-numbers.ts";
import type { Decoder } from "./decoder.ts";
import type { BoxOrder } from "./options.ts";
import { readFloats, readTensor } from "./tensors.ts";

export interface Listed {
  /** Names of the outputs. */
  readonly boxes: string;
  readonly scores: string;
  readonly classes: string;
  /** How many of them are meant; the rest is filling. */
  readonly count?: string;
  /** Whether shapes begin with a batch of one. */
  readonly isBatched: boolean;
  readonly order: BoxOrder;
  readonly scale: Scale;
  readonly labels: LabelTable;
}

export function decodeListed({ isBatched, order, scale, labels, ...names }: Listed): Decoder {
  const list = new CandidateList();
  const addBox = BOX_ORDERS[order];
  const batch = isBatched ? [1] : [];
  return {
    decode(outputs, minimum) {
      list.clear();
      const { data: boxes, dims } = readFloats(outputs, names.boxes, [...batch, null, 4]);
      const listed = dims[batch.length] ?? 0;
      const { data: scores } = readFloats(outputs, names.scores, [...batch, listed]);
      const { data: classes } = readTensor(outputs, names.classes, [...batch, listed]);
      const meant = names.count === undefined ? listed : Number(outputs[names.count]?.data[0] ?? listed);
      for (let i = 0; i < Math.min(listed, meant); i++) {
        const score = scores[i] as number;
        if (!(score >= minimum)) continue;
        const label = labels[Number(classes[i])] ?? -1;
        if (label >= 0) addBox(list, boxes, 4 * i, scale, score, label);
      }
      return list.copy();
    },
  };
}
