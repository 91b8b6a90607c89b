/**
 * The baseline, run in its own process: `bare.ts FRAMES MODEL` only calls onnxruntime on a prepared tensor, with the
 * settings of `detect`. Prints inferences/s, and the processor time of one in ms.
 */
import { shapeOf, sizeOf, viewTensor } from "../../../elements/detect/worker/model-input.ts";
import { loadOnnxruntime, openSession } from "../../../models/onnxruntime.ts";
import { openModel } from "../../../models/open.ts";

const WARM_UP = 3;
const { Tensor } = await loadOnnxruntime();
const [frames = "", model = ""] = process.argv.slice(2);
const { card, file } = await openModel(model);
const session = await openSession(
  { onnx: file, isConverted: card.convert !== undefined, threads: 1, providers: ["cpu"] },
  (warning) => console.error(warning),
);
const [name = ""] = session.inputNames;
const feeds = {
  [name]: new Tensor(card.input.type, viewTensor(card.input, new ArrayBuffer(sizeOf(card.input))), shapeOf(card.input)),
};
for (let turn = 0; turn < WARM_UP; turn++) await session.run(feeds);
const startedMs = performance.now();
const startedCpu = process.cpuUsage();
for (let frame = 0; frame < Number(frames); frame++) await session.run(feeds);
const { user, system } = process.cpuUsage(startedCpu);
process.stdout.write(
  JSON.stringify({
    fps: (Number(frames) * 1000) / (performance.now() - startedMs),
    cpuMs: (user + system) / 1000 / Number(frames),
  }),
);
