/**
 * Boxes given as distributions (generalised focal loss): for each edge a score for 0, 1, 2 … strides away from the
 * anchor; the edge is where the mean of them lies.
 */
import { BestClasses, toLogit, toProbability } from "./best-class.ts";
import { CandidateList } from "./candidates.ts";
import type { Decoder } from "./decoder.ts";
import type { Level } from "./grid.ts";
import { readFloats } from "./tensors.ts";

/** Where scores and distances of a level are. */
export interface LevelTensors {
  readonly level: Level;
  readonly scores: string;
  readonly distances: string;
  /** Numbers of a row of each; in the distances, those before `distanceStart` are something else. */
  readonly scoreStep: number;
  readonly distanceStep: number;
  readonly distanceStart: number;
  readonly bins: number;
  /** Anchors of the whole tensor. */
  readonly anchors: number;
}

export function decodeDistributions(
  levels: readonly LevelTensors[],
  classCount: number,
  offset: number,
  kind: "ready" | "sigmoid",
): Decoder {
  const list = new CandidateList();
  const best = new BestClasses();
  return {
    decode(outputs, minimum) {
      list.clear();
      const least = kind === "sigmoid" ? toLogit(minimum) : minimum;
      for (const { level, scores, distances, scoreStep, distanceStep, distanceStart, bins, anchors } of levels) {
        const { stride, columns, rows, start } = level;
        const { data } = readFloats(outputs, scores, [1, anchors, scoreStep]);
        const { data: spread } = readFloats(outputs, distances, [1, anchors, distanceStep]);
        const cells = columns * rows;
        const table = { data, start: start * scoreStep, anchors: cells, step: scoreStep, first: 0, end: classCount };
        best.scanRows(table, least);
        for (let cell = 0; cell < cells; cell++) {
          const id = best.classes[cell] as number;
          if (id < 0) continue;
          const value = best.scores[cell] as number;
          const score = kind === "sigmoid" ? toProbability(value) : value;
          const x = ((cell % columns) + offset) * stride;
          const y = (Math.floor(cell / columns) + offset) * stride;
          const at = (start + cell) * distanceStep + distanceStart;
          const left = x - stride * meanBin(spread, at, bins);
          const top = y - stride * meanBin(spread, at + bins, bins);
          const right = x + stride * meanBin(spread, at + 2 * bins, bins);
          const bottom = y + stride * meanBin(spread, at + 3 * bins, bins);
          list.add(left, top, right, bottom, score, id);
        }
      }
      return list.copy();
    },
  };
}

/** The mean of 0, 1, 2 … under the softmax of the scores. */
function meanBin(data: Float32Array, at: number, bins: number): number {
  let highest = Number.NEGATIVE_INFINITY;
  for (let bin = 0; bin < bins; bin++) highest = Math.max(highest, data[at + bin] as number);
  let sum = 0;
  let weighted = 0;
  for (let bin = 0; bin < bins; bin++) {
    const weight = Math.exp((data[at + bin] as number) - highest);
    sum += weight;
    weighted += weight * bin;
  }
  return weighted / sum;
}
