import assert from "node:assert/strict";
import { test } from "node:test";
import type { PlanNode, PlanSegment } from "../../graphs/compiler/plan.ts";
import { findOrigins } from "../../graphs/runtime/origins.ts";
import { expectNode, findNode } from "./places.ts";

const node = (name: string, author: string, element = author): PlanNode => ({
  name,
  author,
  element,
  kind: "native",
  factory: element,
  properties: {},
  at: { file: null, line: 1, column: 1 },
});
const segment = (...nodes: readonly PlanNode[]): PlanSegment => ({
  name: "main",
  tee: null,
  nodes,
  links: nodes.slice(1).map((to, index) => ({ from: nodes[index]?.name ?? "", to: to.name })),
  drivers: [],
});
const GRAPH = [
  segment(
    node("source.file", "source"),
    node("source.parse", "source"),
    node("decode.bin", "decode"),
    node("end", "end"),
  ),
];

test("a step means its last node, a full name itself", () => {
  assert.equal(findNode("source", GRAPH), "source.parse");
  assert.equal(findNode("source.file", GRAPH), "source.file");
});

test("a wrong name is refused with all the right ones", () =>
  assert.throws(
    () => expectNode("probe", "sorce", GRAPH),
    /did you mean "source"\?\n {2}steps: source, decode, end\n/,
  ));

test("frames come from what decodes the source, from the source, or from what nothing leads to", () => {
  assert.deepEqual(findOrigins(GRAPH), ["decode.bin"]);
  assert.deepEqual(findOrigins([segment(node("source.file", "source"), node("end", "end"))]), ["source.file"]);
  assert.deepEqual(findOrigins([segment(node("a", "a"), node("b", "b"))]), ["a"]);
});
