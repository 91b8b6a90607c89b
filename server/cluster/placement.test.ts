import assert from "node:assert/strict";
import { test } from "node:test";
import type { NodeRow } from "../store/nodes.ts";
import { canRun, type PlacedProcess, rankNodes } from "./placement.ts";

const nodeOf = (uuid: string, change: Partial<NodeRow> = {}): NodeRow => ({
  ...{ uuid, version: "1", url: `http://${uuid}:8080`, rtspUrl: null, hosts: [], labels: {}, graphs: { detect: "" } },
  ...{ cores: null, memoryBytes: null, maxProcesses: null, load: null, startedAt: new Date(0), isLive: true },
  ...{ drainsUntil: null, processes: 0, reservedCores: 0, reservedBytes: 0, ...change },
});

const PROCESS: PlacedProcess = { graph: "detect", graphText: null, labels: {}, cores: 1, memoryBytes: 100 };

for (const [reason, node, process] of [
  ["it is lost", { isLive: false }, {}],
  ["it is not listening yet", { url: null }, {}],
  ["it drains", { drainsUntil: new Date() }, {}],
  ["it lacks the graph", { graphs: { transcode: "" } }, {}],
  ["it lacks a label", { labels: { site: "south" } }, { labels: { site: "north" } }],
  ["it has its number of processes", { maxProcesses: 2, processes: 2 }, {}],
  ["its cores are reserved", { cores: 2, reservedCores: 1.5 }, {}],
  ["its memory is reserved", { memoryBytes: 1000, reservedBytes: 950 }, {}],
] as const)
  test(`a node cannot run a process when ${reason}`, () => {
    assert.equal(canRun(nodeOf("a", node), { ...PROCESS, ...process }), false);
    assert.deepEqual(rankNodes([nodeOf("a", node)], { ...PROCESS, ...process }), []);
  });

test("a node can run what fits exactly, and any text of a graph", () => {
  assert.equal(canRun(nodeOf("a", { cores: 2, reservedCores: 1, memoryBytes: 100, maxProcesses: 1 }), PROCESS), true);
  assert.equal(canRun(nodeOf("a", { graphs: {} }), { ...PROCESS, graph: "try", graphText: "graph: try" }), true);
});

test("every able node is tried once: those with the video first, then by load", () => {
  const nodes = ["a", "b", "c", "d", "e"].map((uuid, i) => nodeOf(uuid, { processes: i }));
  for (let round = 0; round < 50; round += 1) {
    const ranked = rankNodes(nodes, PROCESS, ({ uuid }) => uuid === "e").map(({ uuid }) => uuid);
    assert.deepEqual([...ranked].sort(), ["a", "b", "c", "d", "e"]);
    assert.equal(ranked[0], "e");
    // The most loaded of the others loses against any other one.
    assert.equal(ranked.at(-1), "d");
  }
});

test("the less loaded of two is chosen, so that load spreads without all nodes choosing the same", () => {
  const nodes = [nodeOf("full", { cores: 4, reservedCores: 3 }), nodeOf("free", { cores: 8, reservedCores: 2 })];
  for (let round = 0; round < 20; round += 1) assert.equal(rankNodes(nodes, PROCESS)[0]?.uuid, "free");
  const equal = Array.from({ length: 10 }, (_, i) => nodeOf(String(i)));
  const firsts = new Set(Array.from({ length: 200 }, () => rankNodes(equal, PROCESS)[0]?.uuid));
  assert.ok(firsts.size >= 8, `${firsts.size} of 10 nodes were chosen`);
});
