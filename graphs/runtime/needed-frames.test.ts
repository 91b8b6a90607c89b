import assert from "node:assert/strict";
import { test } from "node:test";
import detections from "../../elements/detections/detections.ts";
import type { AnyElement } from "../../elements/element.ts";
import print from "../../elements/print/print.ts";
import type { PlanNode, PlanSegment } from "../compiler/plan.ts";
import { findNeeds, skipsFrames } from "./needed-frames.ts";

const ELEMENTS = new Map<string, AnyElement>([detections, print].map((element) => [element.name, element]));
const AT = { file: null, line: 1, column: 1 };

const node = (name: string, factory: string, properties: PlanNode["properties"] = {}): PlanNode => ({
  name,
  author: name,
  element: factory,
  kind: ELEMENTS.has(factory) ? "typescript" : "native",
  factory,
  properties,
  at: AT,
});

/** A segment whose nodes are linked in order, from a tee. */
const segment = (name: string, tee: string | null, ...nodes: readonly PlanNode[]): PlanSegment => ({
  name,
  tee,
  nodes,
  links: [...(tee === null ? [] : [tee]), ...nodes.map((one) => one.name)]
    .map((from, index, names) => ({ from, to: names[index + 1] ?? "" }))
    .slice(0, -1),
  drivers: [],
});

const MAIN = segment(
  "main",
  null,
  node("source", "appsrc"),
  node("packets", "tee"),
  node("skip", "skipframes"),
  node("bin", "decodebin"),
  node("frames", "tee"),
);
const DATA = segment("data", "frames", node("queue", "queue"), node("out", "detections"));
const needs = (...segments: readonly PlanSegment[]) => findNeeds(segments, ELEMENTS).get("skip");

test("a sink that sends results of inference does not need all frames, others do", () => {
  assert.equal(needs(MAIN), false);
  assert.equal(needs(MAIN, DATA), false);
  assert.equal(
    needs(MAIN, DATA, segment("video:1", "frames", node("encoder", "x264enc"), node("f", "filesink"))),
    true,
  );
  assert.equal(needs(MAIN, DATA, segment("lines:1", "frames", node("lines", "print"))), true);
  assert.equal(needs(MAIN, DATA, segment("none:1", "frames", node("none", "fakesink"))), false);
});

test("a sink before the decoder is not concerned", () => {
  assert.equal(needs(MAIN, segment("original:1", "packets", node("f", "filesink"))), false);
});

test("messages with predicted tracks are sent for all frames", () => {
  assert.equal(needs(MAIN, segment("data", "frames", node("out", "detections", { "include-predicted": true }))), true);
});

test("a branch of a branch counts", () => {
  const branch = segment("more", "frames", node("inner", "tee"));
  assert.equal(needs(MAIN, branch), false);
  assert.equal(needs(MAIN, branch, segment("video:1", "inner", node("f", "filesink"))), true);
});

test("knows whether a plan can leave frames out", () => {
  assert.equal(skipsFrames({ main: MAIN, branches: [DATA] }), true);
  assert.equal(skipsFrames({ main: DATA, branches: [] }), false);
});
