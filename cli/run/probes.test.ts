import assert from "node:assert/strict";
import { test } from "node:test";
import { makeFactory } from "../../elements/registry.fixture.ts";
import type { PlanNode, PlanSegment } from "../../graphs/compiler/plan.ts";
import { findOrigins } from "../../graphs/runtime/sources.ts";
import { expectNode, findNode } from "./probes.ts";

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

test("lists all nodes for a wrong name", () =>
  assert.throws(
    () => expectNode("probe", "sorce", GRAPH),
    /did you mean "source"\?\n {2}steps: source, decode, end\n/,
  ));

/** Classes as GStreamer has them. */
const CLASSES: Readonly<Record<string, string>> = {
  ...{ rtph264depay: "Codec/Depayloader/Network/RTP", h264parse: "Codec/Parser/Converter/Video" },
  ...{ avdec_h264: "Codec/Decoder/Video", avdec_aac: "Codec/Decoder/Audio" },
};
const origins = (...names: readonly string[]) =>
  findOrigins([segment(...names.map((name) => node(name, name.replace(/\..*/, ""))))], {
    get: (name) => makeFactory(name, { klass: CLASSES[name] ?? "" }),
  });

test("frames come from what decodes the source, else from what gives access units, else from the source", () => {
  assert.deepEqual(origins("source.file", "source.parse", "decode.bin", "end"), ["decode.bin"]);
  assert.deepEqual(origins("source.file", "end"), ["source.file"]);
  assert.deepEqual(origins("a", "b"), ["a"]);
  assert.deepEqual(origins("udpsrc", "rtph264depay", "h264parse", "avdec_h264", "end"), ["avdec_h264"]);
  assert.deepEqual(origins("udpsrc", "rtph264depay", "h264parse", "mp4mux"), ["h264parse"]);
  assert.deepEqual(origins("udpsrc", "rtph264depay", "mp4mux"), ["rtph264depay"]);
  assert.deepEqual(origins("filesrc", "avdec_aac", "end"), ["filesrc"]);
  assert.deepEqual(origins("source.in", "h264parse", "avdec_h264", "end"), ["avdec_h264"]);
});
