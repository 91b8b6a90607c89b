/**
 * What a user would write without Windhover, run in its own process: `plain.ts CLIP MODEL EVERY SECONDS`. gst-launch
 * decodes, scales and writes frames to a pipe in real time; the script infers every Nth of them with onnxruntime and
 * counts the results. Prints the latency of each inference in ms, from when its frame was due.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { shapeOf, sizeOf, viewTensor } from "../../../elements/detect/worker/model-input.ts";
import { loadOnnxruntime, openSession } from "../../../models/onnxruntime.ts";
import { openModel } from "../../../models/open.ts";

const FRAME_MS = 40;
const [clip = "", model = "", every = "1", seconds = "1"] = process.argv.slice(2);
const { card, file } = await openModel(model);
const { width, height } = card.input;
const bytes = sizeOf(card.input);
const { Tensor } = await loadOnnxruntime();
const session = await openSession({ onnx: file, isConverted: true, threads: 1, providers: ["cpu"] });
const input = viewTensor(card.input, new ArrayBuffer(bytes));
const feeds = { [session.inputNames[0] ?? ""]: new Tensor(card.input.type, input, shapeOf(card.input)) };
await session.run(feeds);

const latenciesMs: number[] = [];
const untilMs = performance.now() + Number(seconds) * 1000;

/** One pass of the clip. */
async function play(): Promise<void> {
  const line = `decodebin ! videoconvert ! videoscale ! video/x-raw,format=RGB,width=${width},height=${height} ! fdsink sync=true`;
  const child = spawn("gst-launch-1.0", ["-q", "filesrc", `location=${clip}`, "!", ...line.split(" ")], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  let rest = Buffer.alloc(0);
  let frame = 0;
  let beganMs = 0;
  for await (const chunk of child.stdout) {
    rest = Buffer.concat([rest, chunk as Buffer]);
    for (; rest.length >= bytes; rest = rest.subarray(bytes), frame++) {
      if (frame === 0) beganMs = performance.now();
      if (frame % Number(every) !== 0) continue;
      input.set(rest.subarray(0, bytes));
      await session.run(feeds);
      latenciesMs.push(performance.now() - beganMs - frame * FRAME_MS);
    }
    if (performance.now() > untilMs) break;
  }
  child.kill();
  await exited;
}

while (performance.now() < untilMs) await play();
process.stdout.write(JSON.stringify({ latenciesMs }));
