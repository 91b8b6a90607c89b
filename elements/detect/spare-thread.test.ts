import assert from "node:assert/strict";
import { test } from "node:test";
import { completeProperties } from "../../graphs/compiler/properties.ts";
import { openModel } from "../../models/open.ts";
import detect from "./detect.ts";
import { Inference, type InferenceSettings } from "./inference.ts";
import { openSpare, type ThreadOrder, takeSpare } from "./spare-thread.ts";
import { type Act, SCRIPTED_WORKER, scriptModel } from "./worker/script.fixture.ts";

const NO_HANG = { timeout: 120_000 };

const order = (...script: readonly Act[]): ThreadOrder => ({
  ...{ model: scriptModel(...script), threads: 1, providers: ["cpu"], slots: 2 },
  ...{ startLimitMs: 60_000, worker: SCRIPTED_WORKER },
});
const settings = (given: ThreadOrder): InferenceSettings => ({
  ...given,
  ...{ onFailure: "keep", limitMs: () => 60_000, onEvent() {} },
});
/** Threads started and requests answered so far. */
const countActs = ({ model }: ThreadOrder): number =>
  new Int32Array((model as unknown as { script: SharedArrayBuffer }).script)[0] ?? 0;

async function inferOnce(given: ThreadOrder): Promise<number | undefined> {
  const inference = await Inference.start(settings(given));
  try {
    inference.slots[1]?.fill(7);
    return (await inference.infer(1, 0.1, 0.5)).boxes[0];
  } finally {
    await inference.close();
  }
}

test("inference uses a thread that is already open, once", NO_HANG, async () => {
  const given = order();
  const close = openSpare(given);
  assert.equal(await inferOnce(given), 7);
  assert.equal(countActs(given), 2, "one start, one request");
  await close();
  assert.equal(await inferOnce(given), 7);
  assert.equal(countActs(given), 4);
});

test("inference does not use a thread for something else", NO_HANG, async () => {
  const given = order();
  const close = openSpare(given);
  for (const other of [{ threads: 2 }, { slots: 3 }, { providers: ["cuda"] }])
    assert.equal(await takeSpare({ ...given, ...other }), null);
  await close();
  assert.equal(await takeSpare(given), null, "it is closed");
});

test("a thread that could not be opened, or has ended since, is replaced", NO_HANG, async () => {
  const refused = order("exit");
  const close = openSpare(refused);
  assert.equal(await inferOnce(refused), 7);
  await close();
  const dying = order();
  openSpare(dying);
  const open = await takeSpare(dying);
  assert.equal(open?.thread.isOver, false);
  await open?.thread.retire();
});

test("a thread that fails after its start is reported to the inference that uses it", NO_HANG, async () => {
  const given = order("well", "fail");
  openSpare(given);
  assert.equal(await inferOnce(given), 7);
  assert.equal(countActs(given), 4, "a second thread answered");
});

test("a handler with default properties uses what detect has opened ahead", NO_HANG, async () => {
  const close = await detect.warmUp?.();
  const properties = completeProperties(detect, {}) as { threads: number; providers: readonly string[] };
  const given = { ...properties, model: await openModel("default"), slots: 3, startLimitMs: 60_000 };
  const open = await takeSpare(given);
  assert.ok(open, "it was opened for the default properties");
  await open.thread.retire();
  await close?.();
});
