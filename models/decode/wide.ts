/** One output of rows: a box by its centre and size, and a score for every class; or the same transposed. */
import { BestClasses } from "./best-class.ts";
import { BOX_ORDERS, type Scale } from "./box-orders.ts";
import { CandidateList } from "./candidates.ts";
import type { Decoder } from "./decoder.ts";
import { readFloats } from "./tensors.ts";

const BOX = 4;

export function decodeWideRows(name: string, classCount: number, scale: Scale): Decoder {
  const list = new CandidateList();
  const best = new BestClasses();
  const step = BOX + classCount;
  return {
    decode(outputs, minimum) {
      list.clear();
      const { data, dims } = readFloats(outputs, name, [1, null, step]);
      const anchors = dims[1] ?? 0;
      best.scanRows({ data, start: BOX, anchors, step, first: 0, end: classCount }, minimum);
      for (let anchor = 0; anchor < anchors; anchor++) {
        const id = best.classes[anchor] as number;
        if (id >= 0) BOX_ORDERS.cxcywh(list, data, anchor * step, scale, best.scores[anchor] as number, id);
      }
      return list.copy();
    },
  };
}

export function decodeWideColumns(name: string, classCount: number, scale: Scale): Decoder {
  const list = new CandidateList();
  const best = new BestClasses();
  const box = new Float32Array(BOX);
  return {
    decode(outputs, minimum) {
      list.clear();
      const { data, dims } = readFloats(outputs, name, [1, BOX + classCount, null]);
      const anchors = dims[2] ?? 0;
      best.scanColumns({ data, start: BOX * anchors, anchors, step: 1, first: 0, end: classCount }, minimum);
      for (let anchor = 0; anchor < anchors; anchor++) {
        const id = best.classes[anchor] as number;
        if (id < 0) continue;
        for (let side = 0; side < BOX; side++) box[side] = data[side * anchors + anchor] as number;
        BOX_ORDERS.cxcywh(list, box, 0, scale, best.scores[anchor] as number, id);
      }
      return list.copy();
    },
  };
}
