import { type AddRow, decodeAnchored } from "./anchored.ts";
import { BOX_ORDERS } from "./box-orders.ts";
import type { Family, Fitting, TensorInfo } from "./decoder.ts";
import { countCells, type Level, layLevels } from "./grid.ts";
import { fitsShape, isFloat, isKnown } from "./tensors.ts";

const STRIDES = [8, 16, 32];
const PIXELS = { x: 1, y: 1 };

const findLevels = ({ input, options }: Fitting): readonly Level[] => layLevels(input, options.strides ?? STRIDES);

function findOutput(fitting: Fitting, anchors: number): TensorInfo | undefined {
  return fitting.outputs.find((tensor) => {
    const [, rows] = tensor.shape;
    const fits = isFloat(tensor) && fitsShape(tensor, [1, null, 5 + fitting.classCount], fitting);
    return fits && (!isKnown(rows) || rows === anchors);
  });
}

/** YOLOX: one anchor a cell, levels one after the other. Exported without decoding unless its card says so. */
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
        const output = findOutput(fitting, anchors);
        if (output === undefined) return null;
        const addRow = fitting.options.decoded === true ? addDecoded : addOnGrid(levels);
        return decodeAnchored(output.name, fitting.classCount, anchors, addRow);
      },
    },
  ],
};

const addDecoded: AddRow = (list, data, at, _, score, classId) =>
  BOX_ORDERS.cxcywh(list, data, at, PIXELS, score, classId);

/** Centres are offsets in cells, sizes are logarithms, both in strides. */
function addOnGrid(levels: readonly Level[]): AddRow {
  return (list, data, at, anchor, score, classId) => {
    const level = levels.findLast(({ start }) => anchor >= start);
    if (level === undefined) return;
    const { stride, columns, start } = level;
    const cell = anchor - start;
    const centreX = ((data[at] as number) + (cell % columns)) * stride;
    const centreY = ((data[at + 1] as number) + Math.floor(cell / columns)) * stride;
    const halfWidth = (Math.exp(data[at + 2] as number) * stride) / 2;
    const halfHeight = (Math.exp(data[at + 3] as number) * stride) / 2;
    list.add(centreX - halfWidth, centreY - halfHeight, centreX + halfWidth, centreY + halfHeight, score, classId);
  };
}
