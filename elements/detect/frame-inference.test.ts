import assert from "node:assert/strict";
import test from "node:test";
import type { Frame } from "../element.ts";
import { Looker, SlotRing } from "./frame-inference.ts";
import { Inference, InferenceLost } from "./inference.ts";
import { listLooks, type Wanted } from "./request.ts";
import { type Act, SCRIPTED_WORKER, scriptModel } from "./worker/script.fixture.ts";

const NO_HANG = { timeout: 30_000 };
const WANTED: Wanted = { confidence: 0.5, weak: 0.2, overlap: 0.5, minimum: 0.2, classIds: null };
const TILES = listLooks(null, { columns: 4, rows: 4, overlap: 0.2, whole: false });

/** Counts the tensors that a look at all tiles of a frame has filled. */
async function countFilled(script: readonly Act[], onFailure: "keep" | "release"): Promise<[number, unknown]> {
  const model = scriptModel(...script);
  const inference = await Inference.start({
    ...{ model, threads: 1, providers: ["cpu"], slots: 3, onFailure },
    ...{ limitMs: () => 10_000, startLimitMs: 10_000, tell: () => {}, worker: SCRIPTED_WORKER },
  });
  let filled = 0;
  const frame: Partial<Frame> = {
    format: { caps: "", mediaType: "video/x-raw", pixels: "I420", width: 64, height: 32, fps: 25 },
    async tensor() {
      filled += 1;
      return { scaleX: 1, scaleY: 1, offsetX: 0, offsetY: 0, originX: 0, originY: 0 };
    },
  };
  const failure = await new Looker(inference, model).look(frame as Frame, TILES, WANTED).then(
    () => null,
    (error: unknown) => error,
  );
  await inference.close();
  return [filled, failure];
}

test("all tiles of a frame are looked at", NO_HANG, async () => {
  assert.deepEqual(await countFilled([], "release"), [16, null]);
});

test("live, no tile is filled after the worker broke", NO_HANG, async () => {
  const [filled, failure] = await countFilled(["well", "well", "fail"], "release");
  assert.ok(failure instanceof InferenceLost, String(failure));
  assert.ok(filled <= 4, `${filled} were filled`);
});

test("at pace fast a worker that broke costs no tile", NO_HANG, async () => {
  assert.deepEqual(await countFilled(["well", "well", "fail"], "keep"), [16, null]);
});

test("a slot is had by one at a time, and those who wait get it in their order", async () => {
  const ring = new SlotRing(2);
  assert.deepEqual([await ring.take(), await ring.take()], [0, 1]);
  const got: string[] = [];
  const third = ring.take().then((slot) => got.push(`third ${slot}`));
  const fourth = ring.take().then((slot) => got.push(`fourth ${slot}`));
  ring.giveBack(1);
  await third;
  ring.giveBack(0);
  await fourth;
  assert.deepEqual(got, ["third 1", "fourth 0"]);
});
