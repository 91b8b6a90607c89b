/** Decoders for the output layouts that several families share, and the grids and label tables they need. */
import { COCO_GAPS, COCO_LAST_ID } from "../labels.ts";
import { BestClasses, toLogit, toProbability } from "./best-class.ts";
import { BOX_ORDERS, type CandidateList, collect, type Scale } from "./candidates.ts";
import type { Decoder, Size } from "./decoder.ts";
import type { BoxOrder, Numbering, ScoreKind } from "./options.ts";
import { type ListedTensors, readFloats, readTensor } from "./tensors.ts";

/** Label index of each class of the model, -1 where it has none. */
type LabelTable = Int32Array;

const NUMBERINGS: Readonly<Record<Numbering, (classCount: number) => readonly number[]>> = {
  labels: (classCount) => Array.from({ length: classCount }, (_, i) => i),
  "after-background": (classCount) => Array.from({ length: classCount + 1 }, (_, i) => i - 1),
  "coco-90": (classCount) => {
    let label = 0;
    return Array.from({ length: COCO_LAST_ID + 1 }, (_, id) =>
      id === 0 || COCO_GAPS.has(id) || label === classCount ? -1 : label++,
    );
  },
};

export const numberLabels = (numbering: Numbering, classCount: number): LabelTable =>
  Int32Array.from(NUMBERINGS[numbering](classCount));

/** The cells of a network at one stride. */
export interface Level {
  readonly stride: number;
  readonly columns: number;
  readonly rows: number;
  /** Index of its first anchor. */
  readonly start: number;
}

/** Levels in the order of the strides, one anchor per cell. A cell that reaches beyond the input counts. */
export function layLevels({ width, height }: Size, strides: readonly number[]): readonly Level[] {
  let start = 0;
  return strides.map((stride) => {
    const level = { stride, columns: Math.ceil(width / stride), rows: Math.ceil(height / stride), start };
    start += level.columns * level.rows;
    return level;
  });
}

export const countCells = (levels: readonly Level[]): number =>
  levels.reduce((sum, { columns, rows }) => sum + columns * rows, 0);

interface ListedOptions {
  readonly order: BoxOrder;
  readonly scale: Scale;
  readonly labels: LabelTable;
}

/** Three outputs that are lists already: a box, a score and a class per object. */
export function decodeListed(tensors: ListedTensors, { order, scale, labels }: ListedOptions): Decoder {
  const addBox = BOX_ORDERS[order];
  const batch = tensors.isBatched ? [1] : [];
  return collect((list, outputs, minimum) => {
    const { data: boxes, dims } = readFloats(outputs, tensors.boxes.name, [...batch, null, 4]);
    const listed = dims[batch.length] ?? 0;
    const { data: scores } = readFloats(outputs, tensors.scores.name, [...batch, listed]);
    const { data: classes } = readTensor(outputs, tensors.classes.name, [...batch, listed]);
    const valid = tensors.count === undefined ? listed : Number(outputs[tensors.count.name]?.data[0] ?? listed);
    const ids = classes instanceof BigInt64Array ? lowWords(classes) : null;
    for (let i = 0; i < Math.min(listed, valid); i++) {
      const score = scores[i] as number;
      if (!(score >= minimum)) continue;
      const label = labels[ids === null ? Number(classes[i]) : (ids[2 * i] as number)] ?? -1;
      if (label >= 0) addBox(list, boxes, 4 * i, scale, score, label);
    }
  });
}

/** Of little-endian 64-bit numbers that fit in 32 bits: each BigInt would be an allocation. */
const lowWords = ({ buffer, byteOffset, length }: BigInt64Array): Int32Array =>
  new Int32Array(buffer, byteOffset, 2 * length);

/** Length of a row of `decodeRows`. */
export const ROW = 6;

interface RowsOptions {
  readonly name: string;
  /** Whether the shape begins with a batch of one. */
  readonly isBatched: boolean;
  /** Offsets in a row of the left edge, the score and the class. */
  readonly box: number;
  readonly score: number;
  readonly class: number;
  readonly scale: Scale;
  readonly classCount: number;
}

/** One output of rows of six numbers: a box, a score and a class per object. */
export function decodeRows({ name, isBatched, box, scale, classCount, ...at }: RowsOptions): Decoder {
  const pattern = isBatched ? [1, null, ROW] : [null, ROW];
  return collect((list, outputs, minimum) => {
    const { data } = readFloats(outputs, name, pattern);
    for (let row = 0; row < data.length; row += ROW) {
      const score = data[row + at.score] as number;
      const id = data[row + at.class] as number;
      if (score >= minimum && id >= 0 && id < classCount) BOX_ORDERS.ltrb(list, data, row + box, scale, score, id);
    }
  });
}

interface ScoredOptions extends ListedOptions {
  /** Names of the outputs: [1, N, 4], and [1, N, columns] or transposed. */
  readonly boxes: string;
  readonly scores: string;
  readonly isTransposed?: boolean;
  readonly kind: ScoreKind;
  /** Scores per anchor, including those of background and "no object". */
  readonly columns: number;
  /** Classes from `first` to before `end` are objects. */
  readonly first: number;
  readonly end: number;
}

/** Two outputs: boxes, and a score per class of each box. */
export function decodeScored(options: ScoredOptions): Decoder {
  const { kind, columns, first, end, order, scale, labels, isTransposed = false } = options;
  const best = new BestClasses();
  const addBox = BOX_ORDERS[order];
  return collect((list, outputs, minimum) => {
    const { data: boxes, dims } = readFloats(outputs, options.boxes, [1, null, 4]);
    const anchors = dims[1] ?? 0;
    const pattern = isTransposed ? [1, columns, anchors] : [1, anchors, columns];
    const { data } = readFloats(outputs, options.scores, pattern);
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
  });
}

const BOX = 4;

/** One output of rows: centre and size of a box, and a score per class. */
export function decodeWideRows(name: string, classCount: number, scale: Scale): Decoder {
  const best = new BestClasses();
  const step = BOX + classCount;
  return collect((list, outputs, minimum) => {
    const { data, dims } = readFloats(outputs, name, [1, null, step]);
    const anchors = dims[1] ?? 0;
    best.scanRows({ data, start: BOX, anchors, step, first: 0, end: classCount }, minimum);
    for (let anchor = 0; anchor < anchors; anchor++) {
      const id = best.classes[anchor] as number;
      if (id >= 0) BOX_ORDERS.cxcywh(list, data, anchor * step, scale, best.scores[anchor] as number, id);
    }
  });
}

/** The same transposed. */
export function decodeWideColumns(name: string, classCount: number, scale: Scale): Decoder {
  const best = new BestClasses();
  const box = new Float32Array(BOX);
  return collect((list, outputs, minimum) => {
    const { data, dims } = readFloats(outputs, name, [1, BOX + classCount, null]);
    const anchors = dims[2] ?? 0;
    best.scanColumns({ data, start: BOX * anchors, anchors, step: 1, first: 0, end: classCount }, minimum);
    for (let anchor = 0; anchor < anchors; anchor++) {
      const id = best.classes[anchor] as number;
      if (id < 0) continue;
      for (let side = 0; side < BOX; side++) box[side] = data[side * anchors + anchor] as number;
      BOX_ORDERS.cxcywh(list, box, 0, scale, best.scores[anchor] as number, id);
    }
  });
}

const FIRST_CLASS = 5;

/** Adds the box of the row that begins at `at`. */
export type AddRow = (
  list: CandidateList,
  data: Float32Array,
  at: number,
  anchor: number,
  score: number,
  classId: number,
) => void;

/** One output of rows: a box, the objectness, and a score per class. `anchors` is null for any number of rows. */
export function decodeAnchored(name: string, classCount: number, anchors: number | null, addRow: AddRow): Decoder {
  const step = FIRST_CLASS + classCount;
  return collect((list, outputs, minimum) => {
    const { data, dims } = readFloats(outputs, name, [1, anchors, step]);
    const count = dims[1] ?? 0;
    for (let anchor = 0; anchor < count; anchor++) {
      const row = anchor * step;
      const objectness = data[row + 4] as number;
      // Class scores are at most 1: this rejects most anchors early.
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
  });
}
