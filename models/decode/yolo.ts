/** YOLO from v5 on, and YOLOX. */
import { BOX_ORDERS, type Scale, scaleOf } from "./candidates.ts";
import type { Family, Fitting, Reading, TensorInfo } from "./decoder.ts";
import {
  type AddRow,
  countCells,
  decodeAnchored,
  decodeRows,
  decodeWideColumns,
  decodeWideRows,
  type Level,
  layLevels,
  ROW,
} from "./layouts.ts";
import { findFloats, fitsShape, isFloat, isKnown } from "./tensors.ts";

const STRIDE_SETS = [
  [8, 16, 32],
  [8, 16, 32, 64],
];
/** Networks that output objects instead of anchors list at most this many. */
const MOST_LISTED = 1000;

const scaleFor = ({ options, input }: Fitting): Scale => scaleOf(options.units ?? "pixels", input);

/** YOLOv5, v6 and v7. With one label, a row is as long as a row of `asList`. */
const withObjectness: Reading = {
  form: "objectness",
  expects: ({ classCount }) =>
    `one output float32 [1, N, ${5 + classCount}]: centre, size, objectness, class scores (v5, v6, v7)`,
  fit(fitting) {
    const { classCount } = fitting;
    const output = findFloats(fitting, [1, null, 5 + classCount]);
    if (output === undefined || (isAsWideAsList(5, fitting) && isListed(output, fitting) === true)) return null;
    const scale = scaleFor(fitting);
    const addRow: AddRow = (list, data, at, _, score, classId) =>
      BOX_ORDERS.cxcywh(list, data, at, scale, score, classId);
    return decodeAnchored(output.name, classCount, null, addRow);
  },
};

/** YOLOv8 and later by default: all centres' x, then all centres' y, and so on. */
const inColumns: Reading = {
  form: "columns",
  expects: ({ classCount }) => `one output float32 [1, ${4 + classCount}, N]: centre, size, class scores (v8, v9, v11)`,
  fit(fitting) {
    const columns = 4 + fitting.classCount;
    const output = findFloats(fitting, [1, columns, null]);
    const [, , anchors] = output?.shape ?? [];
    if (output === undefined || (isKnown(anchors) && anchors <= ROW)) return null;
    return decodeWideColumns(output.name, fitting.classCount, scaleFor(fitting));
  },
};

/** With two labels, a row is as long as a row of `asList`. */
const inRows: Reading = {
  form: "rows",
  expects: ({ classCount }) => `one output float32 [1, N, ${4 + classCount}]: the same, transposed`,
  fit(fitting) {
    const output = findFloats(fitting, [1, null, 4 + fitting.classCount]);
    if (output === undefined || (isAsWideAsList(4, fitting) && isListed(output, fitting) === true)) return null;
    return decodeWideRows(output.name, fitting.classCount, scaleFor(fitting));
  },
};

/** YOLOv10 and YOLO26, or any version exported with NMS. */
const asList: Reading = {
  form: "list",
  expects: () => "one output float32 [1, N, 6]: left, top, right, bottom, score, class (v10, v26, or with NMS inside)",
  fit(fitting) {
    const output = findFloats(fitting, [1, null, ROW]);
    const isDoubtful = isAsWideAsList(4, fitting) || isAsWideAsList(5, fitting);
    if (output === undefined || (isDoubtful && isListed(output, fitting) === false)) return null;
    const row = { box: 0, score: 4, class: 5, scale: scaleFor(fitting), classCount: fitting.classCount };
    return decodeRows({ name: output.name, isBatched: true, ...row });
  },
};

export const yolo: Family = {
  options: ["form", "units"],
  readings: [withObjectness, inColumns, inRows, asList],
  areAlike: true,
};

const isAsWideAsList = (before: number, { classCount }: Fitting): boolean => before + classCount === ROW;

/**
 * A list is short; the number of anchors is one or three times the number of cells in the grid of the input. Null when
 * the length is dynamic or the card states the form.
 */
function isListed({ shape }: TensorInfo, { input, options }: Fitting): boolean | null {
  const [, anchors] = shape;
  if (!isKnown(anchors) || options.form !== undefined) return null;
  const grids = STRIDE_SETS.map((strides) => countCells(layLevels(input, strides)));
  return anchors <= MOST_LISTED && !grids.some((cells) => anchors === cells || anchors === 3 * cells);
}

const YOLOX_STRIDES = [8, 16, 32];
const PIXELS = { x: 1, y: 1 };

const findLevels = ({ input, options }: Fitting): readonly Level[] =>
  layLevels(input, options.strides ?? YOLOX_STRIDES);

function findAnchored(fitting: Fitting, anchors: number): TensorInfo | undefined {
  return fitting.outputs.find((tensor) => {
    const [, rows] = tensor.shape;
    const fits = isFloat(tensor) && fitsShape(tensor, [1, null, 5 + fitting.classCount], fitting);
    return fits && (!isKnown(rows) || rows === anchors);
  });
}

/** One anchor per cell, level by level. Boxes are relative to the grid unless the card sets `decoded`. */
export const yolox: Family = {
  options: ["strides", "decoded"],
  readings: [
    {
      expects: (fitting) => {
        const levels = findLevels(fitting);
        const strides = levels.map(({ stride }) => stride).join(", ");
        return `one output float32 [1, ${countCells(levels)}, ${5 + fitting.classCount}]: box, objectness, class scores at strides ${strides}`;
      },
      fit(fitting) {
        const levels = findLevels(fitting);
        const anchors = countCells(levels);
        const output = findAnchored(fitting, anchors);
        if (output === undefined) return null;
        const addRow = fitting.options.decoded === true ? addDecoded : addOnGrid(levels);
        return decodeAnchored(output.name, fitting.classCount, anchors, addRow);
      },
    },
  ],
};

const addDecoded: AddRow = (list, data, at, _, score, classId) =>
  BOX_ORDERS.cxcywh(list, data, at, PIXELS, score, classId);

/** Centres are offsets from the cell, sizes are logarithms, both in units of the stride. */
function addOnGrid(levels: readonly Level[]): AddRow {
  return (list, data, at, anchor, score, classId) => {
    const level = levels.findLast(({ start }) => anchor >= start);
    if (level === undefined) return;
    const { stride, columns, start } = level;
    const cell = anchor - start;
    const centreX = ((data[at] as number) + (cell % columns)) * stride;
    const centreY = ((data[at + 1] as number) + Math.floor(cell / columns)) * stride;
    const width = Math.exp(data[at + 2] as number) * stride;
    const height = Math.exp(data[at + 3] as number) * stride;
    list.addCentred(centreX, centreY, width, height, score, classId);
  };
}
