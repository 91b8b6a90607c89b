/**
 * One measured run in a process of its own: `ours.ts CLIP COUNT` decodes the clip through a queue and COUNT TypeScript
 * elements. Prints frames per second from the first frame to the end of the stream, which is what gst-launch times too:
 * its clock starts when the first frame waits at the sink and stops before it takes the pipeline down.
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

/** Passes frames on after `process` has seen them. */
const transform = (name: string, process: (frame: Frame) => void, end = () => {}) =>
  defineElement({
    name,
    about: "Bench: looks at frames.",
    example: "",
    kind: "transform",
    caps: "video/x-raw",
    properties: Type.Object({}),
    create: () => ({ process, end }),
  });
/** Does what every real element does: writes a result. */
const look = transform("look", (frame) => frame.write({ seen: frame.index }));
const last = transform(
  "last",
  () => {
    if (frames++ === 0) firstMs = performance.now();
  },
  () => {
    endMs = performance.now();
  },
);

const chain = [...Array(Number(count) - 1).fill("look"), "last"].join(" ! ");
const line = `filesrc location="${clip}" ! qtdemux ! h264parse ! avdec_h264 ! queue ! ${chain} ! fakesink sync=false`;
const input = { elements: new Map([look, last].map((element) => [element.name, element])), registry: loadRegistry() };
const graph = await RunningGraph.start(compileLaunch(line, input), input);
const { error } = await graph.ended;
if (error !== null) throw error;
process.stdout.write(JSON.stringify({ frames, fps: ((frames - 1) / (endMs - firstMs)) * 1000 }));
