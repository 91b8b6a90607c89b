/** One output of rows: a box, how sure the network is that there is an object at all, and a score for every class. */
import { CandidateList } from "./candidates.ts";
import type { Decoder } from "./decoder.ts";
import { readFloats } from "./tensors.ts";

const FIRST_CLASS = 5;

/** Adds the box in the row that begins at `at`. */
export type AddRow = (
  list: CandidateList,
  data: Float32Array,
  at: number,
  anchor: number,
  score: number,
  classId: number,
) => void;

/** `anchors` is null where any number will do. */
export function decodeAnchored(name: string, classCount: number, anchors: number | null, addRow: AddRow): Decoder {
  const list = new CandidateList();
  const step = FIRST_CLASS + classCount;
  return {
    decode(outputs, minimum) {
      list.clear();
      const { data, dims } = readFloats(outputs, name, [1, anchors, step]);
      const count = dims[1] ?? 0;
      for (let anchor = 0; anchor < count; anchor++) {
        const row = anchor * step;
        const objectness = data[row + 4] as number;
        // No class has a score above 1, so that most anchors end here.
        if (!(objectness >= minimum)) continue;
        let best = -1;
        let at = -1;
        for (let i = row + FIRST_CLASS; i < row + step; i++) {
          const score = data[i] as number;
          if (score > best) {
            best = score;
            at = i;
          }
        }
        const score = objectness * best;
        if (score >= minimum) addRow(list, data, row, anchor, score, at - row - FIRST_CLASS);
      }
      return list.copy();
    },
  };
}
