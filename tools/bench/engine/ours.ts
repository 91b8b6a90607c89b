/**
 * Run in its own process: `ours.ts CLIP COUNT` decodes the clip through a queue and COUNT TypeScript elements. Prints fps
 * from the first frame to the end of the stream, as gst-launch does: its clock starts when the first frame is at the sink
 * and stops before the pipeline is shut down.
 */
import { Type } from "typebox";
import { defineElement, type Frame } from "../../../elements/element.ts";
import { compileLaunch } from "../../../graphs/compiler/compile.ts";
import { loadRegistry } from "../../../graphs/runtime/registry.ts";
import { RunningGraph } from "../../../graphs/runtime/running-graph.ts";

const [clip = "", count = "1"] = process.argv.slice(2);
let firstMs = 0;
let endMs = 0;
let frames = 0;

/** A transform with this handler. */
const transform = (name: string, process: (frame: Frame) => void, end = () => {}) =>
  defineElement({
    name,
    about: "Measures frames.",
    example: "",
    kind: "transform",
    caps: "video/x-raw",
    properties: Type.Object({}),
    create: () => ({ process, end }),
  });
/** Writes a result, as real elements do. */
const mark = transform("mark", (frame) => frame.write({ seen: frame.index }));
const last = transform(
  "last",
  () => {
    if (frames++ === 0) firstMs = performance.now();
  },
  () => {
    endMs = performance.now();
  },
);

const chain = [...Array(Number(count) - 1).fill("mark"), "last"].join(" ! ");
const line = `filesrc location="${clip}" ! qtdemux ! h264parse ! avdec_h264 ! queue ! ${chain} ! fakesink sync=false`;
const input = { elements: new Map([mark, last].map((element) => [element.name, element])), registry: loadRegistry() };
const graph = await RunningGraph.start(compileLaunch(line, input), input);
const { error } = await graph.ended;
if (error !== null) throw error;
process.stdout.write(JSON.stringify({ frames, fps: ((frames - 1) / (endMs - firstMs)) * 1000 }));
