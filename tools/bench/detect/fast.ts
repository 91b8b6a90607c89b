/**
 * Run in its own process: `fast.ts CLIP FRAMES MODEL` runs the graph `detect` at pace fast. Prints fps from the first
 * message to the last, and the event loop delay.
 */

import { compileGraph, loadKnowledge } from "../../../cli/compile-graph.ts";
import { GraphFiles, locateGraph } from "../../../cli/graph-files.ts";
import { RunningGraph } from "../../../graphs/runtime/running-graph.ts";
import { measureLoopDelay } from "./measure.ts";

const [clip = "", frames = "", model = ""] = process.argv.slice(2);
let count = 0;
let firstMs = 0;
let lastMs = 0;
let readDelay = (): number => 0;

const knowledge = await loadKnowledge(null);
const source = { uri: clip, pace: "fast" } as const;
const compiled = compileGraph(new GraphFiles(locateGraph("detect")), { params: { model } }, { ...knowledge, source });
const graph = await RunningGraph.start(compiled, {
  ...knowledge,
  onBuilt(pipeline, _segments, origins) {
    for (const node of origins) pipeline.limit(node, { frames: Number(frames) });
  },
  async send(_node, channel) {
    if (channel !== "detection_data") return;
    lastMs = performance.now();
    if (count++ > 0) return;
    firstMs = lastMs;
    readDelay = measureLoopDelay();
  },
});
const { error } = await graph.ended;
if (error !== null) throw error;
const fps = ((count - 1) * 1000) / (lastMs - firstMs);
process.stdout.write(JSON.stringify({ frames: count, fps, loopDelayMs: readDelay() }));
