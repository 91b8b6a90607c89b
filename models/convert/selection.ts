/**
 * Writes what follows the network. The graph itself selects the best pairs of anchor and class, so that only these are
 * decoded to pixels and output. It selects by logit, which has the same order as the score.
 */
import type { GraphBuilder } from "../onnx/graph.ts";
import { BadTflite } from "../tflite/flatbuffer.ts";
import type { Tensor } from "../tflite/read-model.ts";
import type { Size } from "./structure.ts";

export interface Head {
  /** One value per level, [1, anchors per cell × width, down, across]. */
  readonly levels: readonly string[];
  /** Numbers per anchor: the classes, or 4. */
  readonly width: number;
  /** Names of scale and zero point, the same for all levels; null if the levels are floats. */
  readonly scale: readonly [string, string] | null;
}

interface SelectionOptions {
  readonly classes: Head;
  readonly boxes: Head;
  readonly anchors: Anchors;
  /** Number of pairs in the output; at most the number of anchors. */
  readonly limit: number;
}

/** Adds the outputs `boxes`, `scores` and `classes`, best first. */
export function writeSelection(graph: GraphBuilder, { classes, boxes, anchors, limit }: SelectionOptions): void {
  const pairs = choosePairs(graph, classes, limit);
  give(graph, "scores", "float32", [1, limit], graph.node("Sigmoid", [pairs.logit], "score"));
  give(graph, "classes", "int64", [1, limit], pairs.class);
  const stored = graph.node("Gather", [join(graph, "deltas", boxes), pairs.anchor], "chosen_deltas", { axis: 0 });
  const deltas = toFloat(graph, boxes, stored, "delta_values");
  const table = graph.constant("anchors", anchors, [anchors.length / 4, 4]);
  const places = graph.node("Gather", [table, pairs.anchor], "chosen_anchors", { axis: 0 });
  give(graph, "boxes", "float32", [1, limit, 4], decode(graph, deltas, places));
}

/**
 * First selects the anchors with the best class, then the best pairs among these: no pair of the best `limit` can belong
 * to another anchor, and all but a few thousand of a million logits are read only once, as integers.
 */
function choosePairs(graph: GraphBuilder, head: Head, limit: number): { logit: string; anchor: string; class: string } {
  const logits = join(graph, "logits", head);
  const best = graph.node("ReduceMax", [logits], "best_logit", { axes: [1], keepdims: 0 });
  const bestValue = toFloat(graph, head, best, "best_value");
  const count = graph.integers("limit", [limit]);
  graph.nodeOfMany("TopK", [bestValue, count], ["anchor_value", "anchor"], { axis: 0 });

  const rows = graph.node("Gather", [logits, "anchor"], "anchor_logits", { axis: 0 });
  const flat = graph.node("Reshape", [rows, graph.integers("flat", [-1])], "pair_logits");
  const values = toFloat(graph, head, flat, "pair_values");
  graph.nodeOfMany("TopK", [values, count], ["pair_value", "pair"], { axis: 0 });
  const width = graph.scalar("class_count", BigInt64Array.of(BigInt(head.width)));
  const row = graph.node("Div", ["pair", width], "pair_row");
  return {
    logit: "pair_value",
    anchor: graph.node("Gather", ["anchor", row], "pair_anchor", { axis: 0 }),
    class: graph.node("Mod", ["pair", width], "pair_class"),
  };
}

const toFloat = (graph: GraphBuilder, { scale }: Head, value: string, name: string): string =>
  scale === null ? value : graph.node("DequantizeLinear", [value, ...scale], name);

/** All levels as rows of one table: [anchors, width]. */
function join(graph: GraphBuilder, name: string, { levels, width }: Head): string {
  const shape = graph.integers(`rows_of_${width}`, [-1, width]);
  const tables = levels.map((level, i) => {
    const last = graph.node("Transpose", [level], `${name}_${i}_last`, { perm: [0, 2, 3, 1] });
    return graph.node("Reshape", [last, shape], `${name}_${i}`);
  });
  return graph.node("Concat", tables, name, { axis: 0 });
}

/** Deltas are dy, dx, log of the scale of height and of width; anchors are centre x, y, width, height in pixels. */
function decode(graph: GraphBuilder, deltas: string, anchors: string): string {
  const pick = (from: string, columns: readonly number[], name: string) =>
    graph.node("Gather", [from, graph.integers(`columns_${columns.join("_")}`, columns)], name, { axis: 1 });
  const size = pick(anchors, [2, 3], "anchor_size");
  const shift = graph.node("Mul", [pick(deltas, [1, 0], "delta_centre"), size], "shift");
  const centre = graph.node("Add", [pick(anchors, [0, 1], "anchor_centre"), shift], "centre");
  const growth = graph.node("Exp", [pick(deltas, [3, 2], "delta_size")], "growth");
  const grown = graph.node("Mul", [growth, size], "grown");
  const half = graph.node("Mul", [grown, graph.scalar("a_half", Float32Array.of(0.5))], "half");
  const corners = [graph.node("Sub", [centre, half], "left_top"), graph.node("Add", [centre, half], "right_bottom")];
  return graph.node("Concat", corners, "corners", { axis: 1 });
}

function give(
  graph: GraphBuilder,
  name: string,
  type: "float32" | "int64",
  shape: readonly number[],
  value: string,
): void {
  graph.node("Reshape", [value, graph.integers(`shape_of_${name}`, shape)], name);
  graph.output(name, type, shape);
}

/** Rows of centre x, centre y, width, height in pixels. */
export type Anchors = Float32Array;

export interface AnchorGrid {
  readonly image: Size;
  /** Cells per level. */
  readonly levels: readonly Size[];
  readonly perCell: number;
}

const TOLERANCE_PX = 0.01;

/**
 * Anchors for the grid `wanted`: their sizes in pixels are those of the model (`stored`, for the grid `native`), their
 * positions follow from the image size.
 */
export function layAnchors(stored: Tensor, native: AnchorGrid, wanted: AnchorGrid): Anchors {
  const count = countAnchors(native);
  if (stored.type !== "float32" || stored.data.length !== count * 16) {
    throw new BadTflite(`expected ${count} anchors as float32 [${count}, 4], found ${stored.type} [${stored.shape}]`);
  }
  const fractions = new Float32Array(stored.data.slice().buffer);
  const sizes = readSizes(fractions, native);
  if (differ(fractions, layGrid(sizes, native), native.image)) {
    throw new BadTflite("the anchors of the TFLite model do not lie on the grid of an EfficientDet-Lite");
  }
  return layGrid(sizes, wanted);
}

const countAnchors = ({ levels, perCell }: AnchorGrid): number =>
  levels.reduce((sum, { down, across }) => sum + down * across * perCell, 0);

/** Width and height in pixels of the anchors of a cell, per level. */
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
    // Cells divide the image evenly, also if its size is not a multiple of the stride.
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
