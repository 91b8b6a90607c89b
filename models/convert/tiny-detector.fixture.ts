/**
 * A detector of two levels with the structure of an EfficientDet-Lite and weights from a seeded random sequence: as a TFLite
 * file, and as a list of layers for the reference computation.
 */

import type { SketchedModel, SketchedOperator, SketchedTensor } from "../tflite/read-model.fixture.ts";
import { narrowRow } from "./weights.ts";

/** Its two levels have 7 and 4 cells, like the coarsest ones of EfficientDet-Lite2. */
export const TINY_SIZE = 28;
const FINE = 7;
const COARSE = 4;
const PER_CELL = 2;
const ANCHORS = (FINE ** 2 + COARSE ** 2) * PER_CELL;
const CHANNELS = 8;
const SAME = 0;

export interface Scale {
  readonly scale: number;
  readonly zero: number;
}

export interface Convolution {
  /** [outputs, down, across, inputs]; depthwise [1, down, across, outputs]. */
  readonly shape: readonly [number, number, number, number];
  readonly weights: Int8Array;
  readonly weightScales: readonly number[];
  readonly bias: Int32Array;
  readonly stride: number;
  readonly depthwise: boolean;
  readonly relu6: boolean;
  readonly from: Scale;
  readonly to: Scale;
}

export interface TinyDetector {
  readonly stem: Convolution;
  readonly fine: Convolution;
  readonly sum: Scale;
  readonly classes: readonly [Convolution, Convolution];
  readonly boxes: readonly [Convolution, Convolution];
  /** Width and height in pixels, one list per level. */
  readonly anchorSizes: readonly (readonly (readonly [number, number])[])[];
  readonly classCount: number;
}

const PICTURE: Scale = { scale: 1 / 128, zero: -1 };
/** Its range is that of ReLU6; the others extend beyond it. */
const TIGHT: Scale = { scale: Math.fround(6 / 255), zero: -128 };
export const LOOSE: readonly Scale[] = [
  { scale: Math.fround(0.0271), zero: -91 },
  { scale: Math.fround(0.0431), zero: -128 },
];

/** `sum`: the encoding of its one sum, to which ReLU6 is applied. */
export function sketchDetector(classCount: number, sum: Scale = TIGHT): TinyDetector {
  const random = startRandom(classCount);
  const convolve = (
    shape: Convolution["shape"],
    settings: Pick<Convolution, "from" | "to"> & Partial<Convolution>,
    weightScale: number,
  ): Convolution => {
    const outputs = settings.depthwise ? shape[3] : shape[0];
    const weights = Int8Array.from({ length: shape.reduce((a, b) => a * b) }, () => random() * 254 - 127);
    const weightScales = Array.from({ length: outputs }, () => Math.fround(weightScale * (0.5 + random())));
    const bias = Int32Array.from({ length: outputs }, () => random() * 400 - 200);
    return { shape, weights, weightScales, bias, stride: 1, depthwise: false, relu6: false, ...settings };
  };
  const stem = TIGHT;
  const fine: Scale = { scale: 0.0613, zero: 5 };
  const logits: Scale = { scale: 0.0612, zero: 3 };
  const deltas: Scale = { scale: 0.0187, zero: 10 };
  // Small weights, so that few outputs saturate: pairs with equal scores cannot be distinguished.
  const head = (outputs: number, to: Scale): [Convolution, Convolution] => {
    const first = convolve([outputs * PER_CELL, 1, 1, CHANNELS], { from: sum, to }, 0.0015);
    return [first, { ...first, from: fine, bias: first.bias.map((value) => value + 31) }];
  };
  return {
    stem: convolve([CHANNELS, 3, 3, 3], { from: PICTURE, to: stem, stride: 2, relu6: true }, 0.02),
    fine: convolve([1, 3, 3, CHANNELS], { from: stem, to: fine, stride: 2, depthwise: true }, 0.01),
    sum,
    classes: head(classCount, logits),
    boxes: head(4, deltas),
    anchorSizes: [
      [
        [4, 6],
        [7, 5],
      ],
      [
        [9, 14],
        [15, 8],
      ],
    ],
    classCount,
  };
}

/** The same with the dense weights for a CPU that saturates. */
export function narrowDetector(tiny: TinyDetector): TinyDetector {
  const narrow = (layer: Convolution): Convolution => {
    const length = layer.weights.length / layer.bias.length;
    const rows = Array.from(layer.bias, (_, row) => narrowRow(layer.weights.slice(row * length, (row + 1) * length)));
    return {
      ...layer,
      weights: Int8Array.from(rows.flatMap(({ values }) => [...values])),
      weightScales: rows.map(({ step }, row) => Math.fround((layer.weightScales[row] ?? 0) * step)),
      bias: Int32Array.from(rows, ({ step }, row) => Math.round((layer.bias[row] ?? 0) / step)),
    };
  };
  const narrowBoth = ([a, b]: TinyDetector["classes"]): TinyDetector["classes"] => [narrow(a), narrow(b)];
  return { ...tiny, stem: narrow(tiny.stem), classes: narrowBoth(tiny.classes), boxes: narrowBoth(tiny.boxes) };
}

/** Tensors are numbered by their index in this list. */
export function sketchTflite(tiny: TinyDetector): SketchedModel {
  const tensors: SketchedTensor[] = [];
  const operators: SketchedOperator[] = [];
  const add = (tensor: Partial<SketchedTensor> & Pick<SketchedTensor, "shape">): number => {
    const name = `tensor ${tensors.length}`;
    return tensors.push({ name, type: "int8", data: new Uint8Array(0), quantisation: null, ...tensor }) - 1;
  };
  const value = (shape: readonly number[], { scale, zero }: Scale): number =>
    add({ shape, quantisation: { scales: [scale], zeroPoints: [zero], axis: 0 } });
  const operate = (code: number, inputs: readonly number[], output: number, more: Partial<SketchedOperator> = {}) => {
    operators.push({ code, inputs, outputs: [output], ...more });
    return output;
  };
  const convolve = (input: number, side: number, layer: Convolution): number => {
    const zeroPoints = layer.weightScales.map(() => 0);
    const biasScales = layer.weightScales.map((scale) => Math.fround(scale * layer.from.scale));
    const weights = add({
      shape: layer.shape,
      data: new Uint8Array(layer.weights.buffer),
      quantisation: { scales: layer.weightScales, zeroPoints, axis: layer.depthwise ? 3 : 0 },
    });
    const bias = add({
      ...{ type: "int32", shape: [layer.bias.length], data: new Uint8Array(layer.bias.buffer) },
      quantisation: { scales: biasScales, zeroPoints, axis: 0 },
    });
    const output = value([1, side, side, layer.bias.length], layer.to);
    const stride = { 1: { int32: layer.stride }, 2: { int32: layer.stride } };
    const activation = { [layer.depthwise ? 4 : 3]: { uint8: layer.relu6 ? 3 : 0 } };
    const options = { 0: { uint8: SAME }, ...stride, ...activation };
    return operate(layer.depthwise ? 4 : 3, [input, weights, bias], output, { options });
  };

  const picture = add({
    ...{ shape: [1, TINY_SIZE, TINY_SIZE, 3], type: "uint8" },
    quantisation: { scales: [PICTURE.scale], zeroPoints: [PICTURE.zero + 128], axis: 0 },
  });
  const signed = operate(114, [picture], value([1, TINY_SIZE, TINY_SIZE, 3], PICTURE));
  const fine = convolve(convolve(signed, TINY_SIZE / 2, tiny.stem), FINE, tiny.fine);
  const pool = { 1: { int32: 2 }, 2: { int32: 2 }, 3: { int32: 3 }, 4: { int32: 3 } };
  const coarse = operate(17, [fine], value([1, COARSE, COARSE, CHANNELS], tiny.fine.to), { options: pool });
  const target = add({ type: "int32", shape: [2], data: new Uint8Array(Int32Array.of(FINE, FINE).buffer) });
  const enlarged = operate(97, [coarse, target], value([1, FINE, FINE, CHANNELS], tiny.fine.to));
  const relu6 = { 0: { uint8: 3 } };
  const sum = operate(0, [fine, enlarged], value([1, FINE, FINE, CHANNELS], tiny.sum), { options: relu6 });

  const head = (layers: readonly [Convolution, Convolution], width: number): number => {
    const rows = [convolve(sum, FINE, layers[0]), convolve(coarse, COARSE, layers[1])].map((map, i) =>
      operate(
        22,
        [map],
        value([1, [FINE, COARSE].map((side) => side ** 2 * PER_CELL)[i] as number, width], layers[0].to),
      ),
    );
    const joined = operate(2, rows, value([1, ANCHORS, width], layers[0].to));
    const last =
      width === 4 ? joined : operate(14, [joined], value([1, ANCHORS, width], { scale: 1 / 256, zero: -128 }));
    return operate(6, [last], add({ type: "float32", shape: [1, ANCHORS, width] }));
  };
  const boxes = head(tiny.boxes, 4);
  const scores = head(tiny.classes, tiny.classCount);
  const anchors = add({
    ...{ type: "float32", shape: [ANCHORS, 4] },
    data: new Uint8Array(Float32Array.from(layTinyAnchors(tiny)).buffer),
  });
  const result = add({ type: "float32", shape: [] });
  operate(32, [boxes, scores, anchors], result, { custom: "TFLite_Detection_PostProcess" });
  return { tensors, operators, inputs: [picture], outputs: [result] };
}

/** Centre y, centre x, height, width in fractions. */
function layTinyAnchors({ anchorSizes }: TinyDetector): number[] {
  return [FINE, COARSE].flatMap((cells, level) =>
    Array.from({ length: cells * cells }, (_, cell) =>
      (anchorSizes[level] ?? []).map(([width, height]) => [
        (Math.floor(cell / cells) + 0.5) / cells,
        ((cell % cells) + 0.5) / cells,
        height / TINY_SIZE,
        width / TINY_SIZE,
      ]),
    ).flat(2),
  );
}

/** From 0 to 1, the same sequence for the same seed. */
export function startRandom(seed: number): () => number {
  let state = (seed * 2_654_435_761 + 12_345) >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
