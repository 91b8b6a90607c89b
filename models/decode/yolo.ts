import { type AddRow, decodeAnchored } from "./anchored.ts";
import { BOX_ORDERS, type Scale, scaleOf } from "./box-orders.ts";
import type { Family, Fitting, Reading, TensorInfo } from "./decoder.ts";
import { countCells, layLevels } from "./grid.ts";
import { decodeRows, ROW } from "./rows.ts";
import { fitsShape, isFloat, isKnown, type ShapePattern } from "./tensors.ts";
import { decodeWideColumns, decodeWideRows } from "./wide.ts";

const STRIDE_SETS = [
  [8, 16, 32],
  [8, 16, 32, 64],
];
/** Networks that pick their objects themselves list at most so many. */
const MOST_LISTED = 1000;

const find = (fitting: Fitting, pattern: ShapePattern): TensorInfo | undefined =>
  fitting.outputs.find((tensor) => isFloat(tensor) && fitsShape(tensor, pattern, fitting));

const scaleFor = ({ options, input }: Fitting): Scale => scaleOf(options.units ?? "pixels", input);

/** YOLOv5, v6 and v7. With one label its rows are as wide as those of a list. */
const withObjectness: Reading = {
  form: "objectness",
  expects: ({ classCount }) =>
    `one output float32 [1, N, ${5 + classCount}]: centre, size, objectness, class scores (v5, v6, v7)`,
  fit(fitting) {
    const { classCount } = fitting;
    const output = find(fitting, [1, null, 5 + classCount]);
    if (output === undefined || (isAsWideAsList(5, fitting) && isListed(output, fitting) === true)) return null;
    const scale = scaleFor(fitting);
    const addRow: AddRow = (list, data, at, _, score, classId) =>
      BOX_ORDERS.cxcywh(list, data, at, scale, score, classId);
    return decodeAnchored(output.name, classCount, null, addRow);
  },
};

/** YOLOv8 and later as they are exported: all left edges, then all top edges and so on. */
const inColumns: Reading = {
  form: "columns",
  expects: ({ classCount }) => `one output float32 [1, ${4 + classCount}, N]: centre, size, class scores (v8, v9, v11)`,
  fit(fitting) {
    const columns = 4 + fitting.classCount;
    const output = find(fitting, [1, columns, null]);
    const [, , anchors] = output?.shape ?? [];
    if (output === undefined || (isKnown(anchors) && anchors <= ROW)) return null;
    return decodeWideColumns(output.name, fitting.classCount, scaleFor(fitting));
  },
};

/** With two labels as wide as a list. */
const inRows: Reading = {
  form: "rows",
  expects: ({ classCount }) => `one output float32 [1, N, ${4 + classCount}]: the same, transposed`,
  fit(fitting) {
    const output = find(fitting, [1, null, 4 + fitting.classCount]);
    if (output === undefined || (isAsWideAsList(4, fitting) && isListed(output, fitting) === true)) return null;
    return decodeWideRows(output.name, fitting.classCount, scaleFor(fitting));
  },
};

/** YOLOv10 and YOLO26, or any exported with its suppression. */
const asList: Reading = {
  form: "list",
  expects: () => "one output float32 [1, N, 6]: left, top, right, bottom, score, class (v10, v26, or with NMS inside)",
  fit(fitting) {
    const output = find(fitting, [1, null, ROW]);
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
 * A list is short; anchors are as many as the grid of the input has cells, or three times as many. Null where the length
 * is not known, or where the card says what it is.
 */
function isListed({ shape }: TensorInfo, { input, options }: Fitting): boolean | null {
  const [, anchors] = shape;
  if (!isKnown(anchors) || options.form !== undefined) return null;
  const grids = STRIDE_SETS.map((strides) => countCells(layLevels(input, strides)));
  return anchors <= MOST_LISTED && !grids.some((cells) => anchors === cells || anchors === 3 * cells);
}
