/**
 * PicoDet and NanoDet. Each edge of a box is a distribution (generalised focal loss): a score for 0, 1, 2 … strides of
 * distance from the anchor. The edge lies at the mean.
 */

import { ModelMisfit } from "../fault.ts";
import { BestClasses, toLogit, toProbability } from "./best-class.ts";
import { collect } from "./candidates.ts";
import type { Decoder, Family, Fitting, Reading, TensorInfo } from "./decoder.ts";
import { countCells, decodeRows, decodeScored, type Level, layLevels, numberLabels, ROW } from "./layouts.ts";
import { findFloats, fitsShape, isFloat, isKnown, readFloats } from "./tensors.ts";

const STRIDE_SETS = [
  [8, 16, 32, 64],
  [8, 16, 32],
  [8, 16, 32, 64, 128],
];
const MIDDLE = 0.5;

const setsFor = ({ options }: Fitting): readonly (readonly number[])[] =>
  options.strides === undefined ? STRIDE_SETS : [options.strides];

/** The classes of this family are independent, so softmax does not apply. */
function kindFor({ options: { scores = "ready" } }: Fitting): "ready" | "sigmoid" {
  if (scores !== "softmax") return scores;
  throw new ModelMisfit("decoder.scores is softmax; picodet expects ready or sigmoid");
}

/** Four edges, each with a score for 0, 1, 2 … strides away. */
const isDistribution = (columns: number): boolean => columns % 4 === 0 && columns >= 8;

/** PicoDet and the first NanoDet: two outputs per level, class scores and distances. */
const byLevel: Reading = {
  expects: ({ classCount }) =>
    `two outputs per level: float32 [1, cells, ${classCount}] of class scores and [1, cells, 4 × bins] of distances`,
  fit(fitting) {
    const { outputs, classCount, input, options } = fitting;
    if (outputs.length === 0 || outputs.length % 2 !== 0 || !outputs.every(isFloat)) return null;
    // If distances have as many columns as scores, scores come first.
    const scores = outputs
      .filter((tensor) => fitsShape(tensor, [1, null, classCount], fitting))
      .slice(0, outputs.length / 2);
    const distances = outputs.filter((tensor) => !scores.includes(tensor));
    for (const strides of setsFor(fitting)) {
      const levels = layLevels(input, strides);
      const found = levels.flatMap((level) => pairTensors(level, scores, distances, classCount));
      if (found.length === levels.length && found.length === scores.length && found.length === distances.length)
        return decodeDistributions(found, classCount, options.offset ?? MIDDLE, kindFor(fitting));
    }
    return null;
  },
};

function pairTensors(
  level: Level,
  scores: readonly TensorInfo[],
  distances: readonly TensorInfo[],
  classCount: number,
): LevelTensors[] {
  const anchors = level.columns * level.rows;
  const isOfLevel = ({ shape }: TensorInfo) => shape.length === 3 && shape[1] === anchors;
  const [score, distance] = [scores.find(isOfLevel), distances.find(isOfLevel)];
  const step = distance?.shape[2];
  if (score === undefined || distance === undefined || !isKnown(step) || !isDistribution(step)) return [];
  return [
    {
      level: { ...level, start: 0 },
      anchors,
      ...{ scores: score.name, scoreStep: classCount },
      ...{ distances: distance.name, distanceStart: 0, distanceStep: step, bins: step / 4 },
    },
  ];
}

/** NanoDet-Plus, and NanoDet from its current exporter: one output for all levels. */
const inOne: Reading = {
  expects: ({ classCount }) =>
    `one output float32 [1, cells of all levels, ${classCount} + 4 × bins] of class scores and distances`,
  fit(fitting) {
    const { outputs, classCount, input, options } = fitting;
    const [output] = outputs;
    if (output === undefined || outputs.length !== 1 || !isFloat(output) || output.shape.length !== 3) return null;
    const [, anchors, step] = output.shape;
    if (!isKnown(anchors) || !isKnown(step) || !isDistribution(step - classCount)) return null;
    const levels = setsFor(fitting)
      .map((strides) => layLevels(input, strides))
      .find((candidate) => countCells(candidate) === anchors);
    if (levels === undefined) return null;
    const tensors = levels.map((level) => ({
      level,
      anchors,
      ...{ scores: output.name, scoreStep: step },
      ...{ distances: output.name, distanceStart: classCount, distanceStep: step, bins: (step - classCount) / 4 },
    }));
    // NanoDet-Plus, which has a fourth level, puts its anchors in the corners of the cells.
    const offset = options.offset ?? (levels.length > 3 ? 0 : MIDDLE);
    return decodeDistributions(tensors, classCount, offset, kindFor(fitting));
  },
};

/** Exported with decoding, without NMS. */
const decoded: Reading = {
  expects: ({ classCount }) =>
    `boxes float32 [1, N, 4] in pixels and class scores float32 [1, ${classCount}, N] or [1, N, ${classCount}]`,
  fit(fitting) {
    const { outputs, classCount } = fitting;
    const floats = outputs.filter((tensor) => isFloat(tensor) && tensor.shape.length === 3);
    const boxes = floats.find((tensor) => fitsShape(tensor, [1, null, 4], fitting));
    const [, anchors] = boxes?.shape ?? [];
    const cells = isKnown(anchors) ? anchors : null;
    const others = floats.filter((tensor) => tensor !== boxes);
    const columns = others.find((tensor) => fitsShape(tensor, [1, classCount, cells], fitting));
    const scores = columns ?? others.find((tensor) => fitsShape(tensor, [1, cells, classCount], fitting));
    if (boxes === undefined || scores === undefined) return null;
    return decodeScored({
      ...{ boxes: boxes.name, scores: scores.name, isTransposed: scores === columns },
      ...{ kind: kindFor(fitting), columns: classCount, first: 0, end: classCount },
      ...{ order: "ltrb", scale: { x: 1, y: 1 }, labels: numberLabels("labels", classCount) },
    });
  },
};

/** Exported with decoding and NMS: a list of objects as PaddleDetection writes it. */
const listed: Reading = {
  expects: () => "one output float32 [N, 6] or [1, N, 6]: class, score, left, top, right, bottom in pixels",
  fit(fitting) {
    const batched = findFloats(fitting, [1, null, ROW]);
    const output = batched ?? findFloats(fitting, [null, ROW]);
    if (output === undefined) return null;
    const row = { class: 0, score: 1, box: 2, scale: { x: 1, y: 1 }, classCount: fitting.classCount };
    return decodeRows({ name: output.name, isBatched: output === batched, ...row });
  },
};

export const picodet: Family = {
  options: ["strides", "offset", "scores"],
  readings: [byLevel, inOne, decoded, listed],
};

/** The outputs with the scores and distances of one level. */
interface LevelTensors {
  readonly level: Level;
  readonly scores: string;
  readonly distances: string;
  /** Row lengths; in the distances, the columns before `distanceStart` are skipped. */
  readonly scoreStep: number;
  readonly distanceStep: number;
  readonly distanceStart: number;
  readonly bins: number;
  /** Anchors of the whole tensor. */
  readonly anchors: number;
}

function decodeDistributions(
  levels: readonly LevelTensors[],
  classCount: number,
  offset: number,
  kind: "ready" | "sigmoid",
): Decoder {
  const best = new BestClasses();
  return collect((list, outputs, minimum) => {
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
  });
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
