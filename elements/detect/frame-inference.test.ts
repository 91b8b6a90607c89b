import assert from "node:assert/strict";
import test from "node:test";
import type { Frame } from "../element.ts";
import { FrameInference, SlotPool } from "./frame-inference.ts";
import { Inference, InferenceLost } from "./inference.ts";
import { type DetectionFilter, listRegions, WHOLE } from "./request.ts";
import { type Act, SCRIPTED_WORKER, scriptModel } from "./worker/script.fixture.ts";

const NO_HANG = { timeout: 30_000 };
const FILTER: DetectionFilter = { confidence: 0.5, weak: 0.2, overlap: 0.5, minimum: 0.2, classIds: null };
const TILES = listRegions(null, { columns: 4, rows: 4, overlap: 0.2, whole: false });

/** Counts the tensors filled for all tiles of a frame. */
async function countFilled(script: readonly Act[], onFailure: "keep" | "release"): Promise<[number, unknown]> {
  const model = scriptModel(...script);
  const inference = await Inference.start({
    ...{ model, threads: 1, providers: ["cpu"], slots: 3, onFailure },
    ...{ limitMs: () => 10_000, startLimitMs: 10_000, onEvent: () => {}, worker: SCRIPTED_WORKER },
  });
  let filled = 0;
  const frame: Partial<Frame> = {
    format: { caps: "", mediaType: "video/x-raw", pixels: "I420", width: 64, height: 32, fps: 25 },
    async tensor() {
      filled += 1;
      return { scaleX: 1, scaleY: 1, offsetX: 0, offsetY: 0, originX: 0, originY: 0 };
    },
  };
  const request = { regions: TILES, within: WHOLE, filter: FILTER };
  const failure = await new FrameInference(inference, model).infer(frame as Frame, request).then(
    () => null,
    (error: unknown) => error,
  );
  await inference.close();
  return [filled, failure];
}

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
