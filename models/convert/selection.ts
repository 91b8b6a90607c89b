/**
 * What follows the network: the most probable pairs of anchor and class are chosen inside the graph, so that only they
 * are put into pixels and only they leave it. Choosing goes by the logits, which are ordered as the scores are.
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
  /** How many pairs leave the graph; at most the number of anchors. */
  readonly limit: number;
}

/** Adds the outputs `boxes`, `scores` and `classes`, best first. */
export function writeSelection(graph: GraphBuilder, { classes, boxes, anchors, limit }: SelectionOrder): void {
  const pairs = choosePairs(graph, classes, limit);
  give(graph, "scores", "float32", [1, limit], graph.node("Sigmoid", [pairs.logit], "score"));
  give(graph, "classes", "int64", [1, limit], pairs.class);
  const stored = graph.node("Gather", [join(graph, "deltas", boxes), pairs.anchor], "chosen_deltas", { axis: 0 });
  const deltas = graph.node("DequantizeLinear", [stored, ...boxes.scale], "delta_values");
  const table = graph.constant("anchors", anchors, [anchors.length / 4, 4]);
  const places = graph.node("Gather", [table, pairs.anchor], "chosen_anchors", { axis: 0 });
  give(graph, "boxes", "float32", [1, limit, 4], decode(graph, deltas, places));
}

/**
 * First the anchors with the best class, then the best pairs among these: no pair of the best `limit` can belong to
 * another anchor, and all but a few thousand of a million logits are looked at once, as whole numbers.
 */
function choosePairs(graph: GraphBuilder, head: Head, limit: number): { logit: string; anchor: string; class: string } {
  const logits = join(graph, "logits", head);
  const best = graph.node("ReduceMax", [logits], "best_logit", { axes: [1], keepdims: 0 });
  const bestValue = graph.node("DequantizeLinear", [best, ...head.scale], "best_value");
  const count = graph.integers("limit", [limit]);
  graph.nodeOfMany("TopK", [bestValue, count], ["anchor_value", "anchor"], { axis: 0 });

  const rows = graph.node("Gather", [logits, "anchor"], "anchor_logits", { axis: 0 });
  const flat = graph.node("Reshape", [rows, graph.integers("flat", [-1])], "pair_logits");
  const values = graph.node("DequantizeLinear", [flat, ...head.scale], "pair_values");
  graph.nodeOfMany("TopK", [values, count], ["pair_value", "pair"], { axis: 0 });
  const width = graph.scalar("class_count", BigInt64Array.of(BigInt(head.width)));
  const row = graph.node("Div", ["pair", width], "pair_row");
  return {
    logit: "pair_value",
    anchor: graph.node("Gather", ["anchor", row], "pair_anchor", { axis: 0 }),
    class: graph.node("Mod", ["pair", width], "pair_class"),
  };
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
