/**
 * Anchors: the boxes that every cell of every level starts from. Their sizes are taken from the model, in pixels; where
 * they lie follows from the size of the picture.
 */
import { BadTflite } from "../tflite/flatbuffer.ts";
import type { Tensor } from "../tflite/read-model.ts";
import type { Size } from "./plan-sizes.ts";

/** Rows of centre x, centre y, width, height in pixels. */
export type Anchors = Float32Array;

export interface AnchorGrid {
  readonly image: Size;
  /** Cells of each level. */
  readonly levels: readonly Size[];
  readonly perCell: number;
}

const TOLERANCE_PX = 0.01;

/** `stored` belongs to the grid `native`; the result belongs to `wanted`. */
export function layAnchors(stored: Tensor, native: AnchorGrid, wanted: AnchorGrid): Anchors {
  const count = countAnchors(native);
  if (stored.type !== "float32" || stored.data.length !== count * 16) {
    throw new BadTflite(
      `${count} anchors as float32 [${count}, 4] were expected, found ${stored.type} [${stored.shape}]`,
    );
  }
  const fractions = new Float32Array(stored.data.slice().buffer);
  const sizes = readSizes(fractions, native);
  if (differ(fractions, layGrid(sizes, native), native.image)) {
    throw new BadTflite("the anchors of the TFLite model do not lie on the grid of an EfficientDet-Lite");
  }
  return layGrid(sizes, wanted);
}

export const countAnchors = ({ levels, perCell }: AnchorGrid): number =>
  levels.reduce((sum, { down, across }) => sum + down * across * perCell, 0);

/** Width and height in pixels of the anchors of a cell, level after level. */
function readSizes(fractions: Float32Array, { image, levels, perCell }: AnchorGrid): number[][] {
  let row = 0;
  return levels.map(({ down, across }) => {
    const sizes: number[] = [];
    for (let i = row; i < row + perCell; i++) {
      sizes.push((fractions[i * 4 + 3] ?? 0) * image.across, (fractions[i * 4 + 2] ?? 0) * image.down);
    }
    row += down * across * perCell;
    return sizes;
  });
}

function layGrid(sizes: readonly number[][], grid: AnchorGrid): Anchors {
  const anchors = new Float32Array(countAnchors(grid) * 4);
  let at = 0;
  grid.levels.forEach(({ down, across }, level) => {
    const cell = sizes[level] ?? [];
    // Cells share the picture evenly, even where it is no multiple of the stride.
    const strideY = grid.image.down / down;
    const strideX = grid.image.across / across;
    for (let y = 0; y < down; y++) {
      for (let x = 0; x < across; x++) {
        for (let i = 0; i < cell.length; i += 2) {
          anchors.set([(x + 0.5) * strideX, (y + 0.5) * strideY, cell[i] ?? 0, cell[i + 1] ?? 0], at);
          at += 4;
        }
      }
    }
  });
  return anchors;
}

function differ(fractions: Float32Array, anchors: Anchors, { down, across }: Size): boolean {
  for (let i = 0; i < fractions.length; i += 4) {
    for (let k = 0; k < 4; k++) {
      // Stored y before x, height before width.
      const pixels = (fractions[i + (k ^ 1)] ?? 0) * (k % 2 === 0 ? across : down);
      if (!(Math.abs(pixels - (anchors[i + k] ?? 0)) <= TOLERANCE_PX)) return true;
    }
  }
  return false;
}
