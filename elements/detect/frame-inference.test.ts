import assert from "node:assert/strict";
import test from "node:test";
import type { Candidates } from "../../models/decode/decoder.ts";
import type { Frame, TensorOrder } from "../element.ts";
import { FrameInference, SlotPool } from "./frame-inference.ts";
import { Inference, InferenceLost } from "./inference.ts";
import { type DetectionFilter, listRegions, WHOLE } from "./request.ts";
import { type Act, SCRIPTED_WORKER, scriptModel } from "./worker/script.fixture.ts";

const NO_HANG = { timeout: 30_000 };
const FILTER: DetectionFilter = { confidence: 0.5, weak: 0.2, overlap: 0.5, minimum: 0.2, classIds: null };
const TILES = listRegions(null, { columns: 4, rows: 4, overlap: 0.2, whole: false });

/** Inference on frames, of whose tensors it counts those that are filled. */
async function open(script: readonly Act[], onFailure: "keep" | "release") {
  const model = scriptModel(...script);
  const inference = await Inference.start({
    ...{ model, threads: 1, providers: ["cpu"], slots: 3, onFailure },
    ...{ limitMs: () => 10_000, startLimitMs: 10_000, onEvent: () => {}, worker: SCRIPTED_WORKER },
  });
  const filled: TensorOrder["region"][] = [];
  const frame: Partial<Frame> = {
    format: { caps: "", mediaType: "video/x-raw", pixels: "I420", width: 64, height: 32, fps: 25 },
    async tensor(target, { region }) {
      filled.push(region);
      // The scripted worker answers with the box that begins a tensor.
      target.set([10 * filled.length, 0, 10 * filled.length + 5, 5]);
      return { scaleX: 1, scaleY: 1, offsetX: 0, offsetY: 0, originX: 0, originY: 0 };
    },
  };
  return { inference, frame: frame as Frame, filled, frames: new FrameInference(inference, model) };
}

/** Counts the tensors filled for all tiles of a frame. */
async function countFilled(script: readonly Act[], onFailure: "keep" | "release"): Promise<[number, unknown]> {
  const { inference, frame, frames, filled } = await open(script, onFailure);
  const request = { regions: TILES, onlyMoving: false, within: WHOLE, filter: FILTER };
  const failure = await frames.infer(frame, request).then(
    () => null,
    (error: unknown) => error,
  );
  await inference.close();
  return [filled.length, failure];
}

test("infers only moving tiles, and keeps what was found in the others", NO_HANG, async () => {
  const { inference, frame, frames, filled } = await open([], "keep");
  const regions = listRegions(null, { columns: 2, rows: 1, overlap: 0, whole: false });
  const request = { regions, onlyMoving: true, within: WHOLE, filter: FILTER };
  /** One square per tile. */
  const change = (...isChanged: number[]) => ({ width: 2, height: 1, isChanged: Uint8Array.from(isChanged) });
  assert.deepEqual(frames.choose(request, change(0, 1)), regions, "nothing is known of the other yet");
  assert.deepEqual(lefts(await frames.infer(frame, request)), [10, 20]);
  const moving = frames.choose(request, change(0, 1));
  assert.deepEqual(moving, [regions[1]]);
  assert.deepEqual(lefts(await frames.infer(frame, request, moving)), [10, 30]);
  assert.deepEqual(filled, [...regions, regions[1]]);
  assert.deepEqual(frames.choose(request, null), regions);
  assert.deepEqual(frames.choose({ ...request, onlyMoving: false }, change(0, 0)), regions);
  const others = listRegions(null, { columns: 2, rows: 1, overlap: 0, whole: false });
  assert.deepEqual(frames.choose({ ...request, regions: others }, change(0, 0)), others, "results of other regions");
  await inference.close();
});

const lefts = ({ boxes, count }: Candidates) =>
  Array.from({ length: count }, (_, index) => boxes[4 * index] ?? -1).sort((a, b) => a - b);

test("infers all tiles of a frame", NO_HANG, async () => {
  assert.deepEqual(await countFilled([], "release"), [16, null]);
});

test("live, fills no tile after the worker failed", NO_HANG, async () => {
  const [filled, failure] = await countFilled(["well", "well", "fail"], "release");
  assert.ok(failure instanceof InferenceLost, String(failure));
  assert.ok(filled <= 4, `${filled} were filled`);
});

test("at pace fast a failed worker costs no tile", NO_HANG, async () => {
  assert.deepEqual(await countFilled(["well", "well", "fail"], "keep"), [16, null]);
});

test("the slot pool gives each slot to one caller at a time, in order of waiting", async () => {
  const pool = new SlotPool(2);
  assert.deepEqual([await pool.acquire(), await pool.acquire()], [0, 1]);
  const got: string[] = [];
  const third = pool.acquire().then((slot) => got.push(`third ${slot}`));
  const fourth = pool.acquire().then((slot) => got.push(`fourth ${slot}`));
  pool.release(1);
  await third;
  pool.release(0);
  await fourth;
  assert.deepEqual(got, ["third 1", "fourth 0"]);
});
