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

const find = ({ outputs }: Fitting, pattern: ShapePattern): TensorInfo | undefined =>
  outputs.find((tensor) => isFloat(tensor) && fitsShape(tensor, pattern));

const scaleFor = ({ options, input }: Fitting): Scale => scaleOf(options.units ?? "pixels", input);

/** YOLOv5, v6 and v7. With one label its rows are as long as those of a list, which is never as long as a grid. */
const withObjectness: Reading = {
  expects: ({ classCount }) =>
    `one output float32 [1, N, ${5 + classCount}]: centre, size, objectness, class scores (v5, v6, v7)`,
  fit(fitting) {
    const { classCount } = fitting;
    const output = find(fitting, [1, null, 5 + classCount]);
    if (output === undefined || (classCount === 1 && isList(output, fitting))) return null;
    const scale = scaleFor(fitting);
    const addRow: AddRow = (list, data, at, _, score, classId) =>
      BOX_ORDERS.cxcywh(list, data, at, scale, score, classId);
    return decodeAnchored(output.name, classCount, null, addRow);
  },
};

/** YOLOv8 and later as they are exported: all left edges, then all top edges and so on. */
const inColumns: Reading = {
  expects: ({ classCount }) => `one output float32 [1, ${4 + classCount}, N]: centre, size, class scores (v8, v9, v11)`,
  fit(fitting) {
    const columns = 4 + fitting.classCount;
    const output = find(fitting, [1, columns, null]);
    const [, , anchors] = output?.shape ?? [];
    if (output === undefined || (isKnown(anchors) && anchors <= ROW)) return null;
    return decodeWideColumns(output.name, fitting.classCount, scaleFor(fitting));
  },
};

const inRows: Reading = {
  expects: ({ classCount }) => `one output float32 [1, N, ${4 + classCount}]: the same, transposed`,
  fit(fitting) {
    const columns = 4 + fitting.classCount;
    const output = find(fitting, [1, null, columns]);
    if (output === undefined || (columns === ROW && isList(output, fitting))) return null;
    return decodeWideRows(output.name, fitting.classCount, scaleFor(fitting));
  },
};

/** YOLOv10 and YOLO26, or any exported with its suppression. */
const asList: Reading = {
  expects: () => "one output float32 [1, N, 6]: left, top, right, bottom, score, class (v10, v26, or with NMS inside)",
  fit(fitting) {
    const output = find(fitting, [1, null, ROW]);
    if (output === undefined) return null;
    const row = { box: 0, score: 4, class: 5, scale: scaleFor(fitting), classCount: fitting.classCount };
    return decodeRows({ name: output.name, isBatched: true, ...row });
  },
};

export const yolo: Family = { options: ["units"], readings: [withObjectness, inColumns, inRows, asList] };

/** A list is short; anchors are as many as the grid of the input has cells, or three times as many. */
function isList({ shape }: TensorInfo, { input }: Fitting): boolean {
  const [, anchors] = shape;
  if (!isKnown(anchors)) return false;
  const grids = STRIDE_SETS.map((strides) => countCells(layLevels(input, strides)));
  return anchors <= MOST_LISTED && !grids.some((cells) => anchors === cells || anchors === 3 * cells);
}
