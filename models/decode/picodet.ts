import { numberLabels } from "./class-numbers.ts";
import type { Family, Fitting, Reading, TensorInfo } from "./decoder.ts";
import { decodeDistributions, type LevelTensors } from "./distributions.ts";
import { findLevels, type Level, layLevels } from "./grid.ts";
import { ModelMisfit } from "./misfit.ts";
import { decodeRows, ROW } from "./rows.ts";
import { decodeScored } from "./scored.ts";
import { fitsShape, isFloat, isKnown } from "./tensors.ts";

const STRIDE_SETS = [
  [8, 16, 32, 64],
  [8, 16, 32],
  [8, 16, 32, 64, 128],
];
const MIDDLE = 0.5;

const setsFor = ({ options }: Fitting): readonly (readonly number[])[] =>
  options.strides === undefined ? STRIDE_SETS : [options.strides];

/** Classes of this family are independent of one another. */
function kindFor({ options: { scores = "ready" } }: Fitting): "ready" | "sigmoid" {
  if (scores !== "softmax") return scores;
  throw new ModelMisfit("decoder.scores is softmax; picodet has ready or sigmoid");
}

/** Four edges, each with a score for 0, 1, 2 … strides away. */
const isDistribution = (columns: number): boolean => columns % 4 === 0 && columns >= 8;

/** PicoDet and the first NanoDet: two outputs a level, class scores and distances. */
const byLevel: Reading = {
  expects: ({ classCount }) =>
    `two outputs a level: float32 [1, cells, ${classCount}] of class scores and [1, cells, 4 × bins] of distances`,
  fit(fitting) {
    const { outputs, classCount, input, options } = fitting;
    if (outputs.length === 0 || outputs.length % 2 !== 0 || !outputs.every(isFloat)) return null;
    // Where distances have as many columns as scores, scores come first.
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

/** NanoDet-Plus, and NanoDet as its exporter makes it today: one output for all levels. */
const inOne: Reading = {
  expects: ({ classCount }) =>
    `one output float32 [1, cells of all levels, ${classCount} + 4 × bins] of class scores and distances`,
  fit(fitting) {
    const { outputs, classCount, input, options } = fitting;
    const [output] = outputs;
    if (output === undefined || outputs.length !== 1 || !isFloat(output) || output.shape.length !== 3) return null;
    const [, anchors, step] = output.shape;
    if (!isKnown(anchors) || !isKnown(step) || !isDistribution(step - classCount)) return null;
    const levels = findLevels(input, setsFor(fitting), anchors);
    if (levels === null) return null;
    const tensors = levels.map((level) => ({
      level,
      anchors,
      ...{ scores: output.name, scoreStep: step },
      ...{ distances: output.name, distanceStart: classCount, distanceStep: step, bins: (step - classCount) / 4 },
    }));
    // The anchors of NanoDet-Plus, which has a fourth level, lie in the corners of their cells.
    const offset = options.offset ?? (levels.length > 3 ? 0 : MIDDLE);
    return decodeDistributions(tensors, classCount, offset, kindFor(fitting));
  },
};

/** Exported with its decoding, but without its suppression. */
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

/** Exported with everything, as PaddleDetection lists objects. */
const listed: Reading = {
  expects: () => "one output float32 [N, 6] or [1, N, 6]: class, score, left, top, right, bottom in pixels",
  fit(fitting) {
    const { outputs, classCount } = fitting;
    const isRows = (pattern: readonly (number | null)[]) =>
      outputs.find((tensor) => isFloat(tensor) && fitsShape(tensor, pattern, fitting));
    const [batched, bare] = [isRows([1, null, ROW]), isRows([null, ROW])];
    const output = batched ?? bare;
    if (output === undefined) return null;
    const row = { class: 0, score: 1, box: 2, scale: { x: 1, y: 1 } };
    return decodeRows({ name: output.name, isBatched: output === batched, classCount, ...row });
  },
};

export const picodet: Family = {
  options: ["strides", "offset", "scores"],
  readings: [byLevel, inOne, decoded, listed],
};
