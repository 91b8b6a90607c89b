/**
 * What follows the network: the most probable anchors are chosen inside the graph, so that only they are put into
 * pixels and only they leave it. Choosing goes by the quantised logits, which are ordered as the scores are.
 */
import type { GraphBuilder } from "../onnx/graph.ts";
import type { Anchors } from "./anchors.ts";

export interface Head {
  /** One value a level, quantised, [1, anchors of a cell × width, down, across]. */
  readonly levels: readonly string[];
  /** Numbers of an anchor: the classes, or 4. */
  readonly width: number;
  /** Names of scale and zero point, the same for all levels. */
  readonly scale: readonly [string, string];
}

export interface SelectionOrder {
  readonly classes: Head;
  readonly boxes: Head;
  readonly anchors: Anchors;
  /** Anchors that leave the graph. */
  readonly limit: number;
}

/** Adds the outputs `boxes`, `scores` and `classes`. */
export function writeSelection(graph: GraphBuilder, { classes, boxes, anchors, limit }: SelectionOrder): void {
  const logits = join(graph, "logits", classes);
  const best = graph.node("ReduceMax", [logits], "best_logit", { axes: [1], keepdims: 0 });
  const bestValue = graph.node("DequantizeLinear", [best, ...classes.scale], "best_value");
  const count = graph.integers("limit", [limit]);
  graph.nodeOfMany("TopK", [bestValue, count], ["chosen_value", "chosen"], { axis: 0 });
  give(graph, "scores", "float32", [1, limit], graph.node("Sigmoid", ["chosen_value"], "chosen_score"));

  const chosenLogits = graph.node("Gather", [logits, "chosen"], "chosen_logits", { axis: 0 });
  const chosenClass = graph.node("ArgMax", [chosenLogits], "chosen_class", { axis: 1, keepdims: 0 });
  give(graph, "classes", "int64", [1, limit], chosenClass);

  const deltas = graph.node("Gather", [join(graph, "deltas", boxes), "chosen"], "chosen_deltas", { axis: 0 });
  const deltaValues = graph.node("DequantizeLinear", [deltas, ...boxes.scale], "delta_values");
  const table = graph.constant("anchors", anchors, [anchors.length / 4, 4]);
  const places = graph.node("Gather", [table, "chosen"], "chosen_anchors", { axis: 0 });
  give(graph, "boxes", "float32", [1, limit, 4], decode(graph, deltaValues, places));
}

/** All levels as rows of one table: [anchors, width]. */
function join(graph: GraphBuilder, name: string, { levels, width }: Head): string {
  const shape = graph.integers(`rows_of_${width}`, [-1, width]);
  const tables = levels.map((level, i) => {
    const last = graph.node("Transpose", [level], `${name}_${i}_last`, { perm: [0, 2, 3, 1] });
    return graph.node("Reshape", [last, shape], `${name}_${i}`);
  });
  return graph.node("Concat", tables, name, { axis: 0 });
}

/** Deltas are dy, dx, log of the growth of height and of width; anchors are centre x, y, width, height in pixels. */
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
