import assert from "node:assert/strict";
import test from "node:test";
import { Inference, type InferenceEvent, InferenceLost } from "./inference.ts";
import { type Act, SCRIPTED_WORKER, scriptModel } from "./worker/script.fixture.ts";

const NO_HANG = { timeout: 30_000 };
/** Long enough for a thread of a busy machine to answer, short enough for a test to wait for a hang. */
const LIMIT_MS = 1500;

interface Running {
  readonly inference: Inference;
  readonly events: InferenceEvent[];
}

async function withInference(
  script: readonly Act[],
  onFailure: "keep" | "release",
  work: (running: Running) => Promise<void>,
): Promise<void> {
  const events: InferenceEvent[] = [];
  const inference = await Inference.start({
    model: scriptModel(...script),
    threads: 1,
    providers: ["cpu"],
    slots: 3,
    onFailure,
    limitMs: () => LIMIT_MS,
    tell: (event) => events.push(event),
    worker: SCRIPTED_WORKER,
    startLimitMs: LIMIT_MS,
  });
  for (const [index, slot] of inference.slots.entries()) slot.fill(index + 1);
  try {
    await work({ inference, events });
  } finally {
    await inference.close();
  }
}

/** What was in the slot when it was looked at. */
const look = async (inference: Inference, slot: number) => (await inference.infer(slot, 0.1, 0.5)).boxes[0];
const statesOf = (events: readonly InferenceEvent[]) =>
  events.map((event) => (event.state === "failed" ? event.reason : event.state));

test("orders are answered in turn, each from its own slot", NO_HANG, () =>
  withInference([], "keep", async ({ inference, events }) => {
    assert.deepEqual(await Promise.all([2, 0, 1, 0].map((slot) => look(inference, slot))), [3, 1, 2, 1]);
    assert.deepEqual(events, []);
  }),
);

for (const [act, reason] of [
  ["fail", /^told to fail$/],
  ["throw", /^told to throw$/],
  ["exit", /^its thread ended by itself \(code 7\)$/],
  ["hang", new RegExp(`^no answer within ${LIMIT_MS} ms$`)],
  ["stick", new RegExp(`^no answer within ${LIMIT_MS} ms$`)],
] as const)
  test(`a worker told to ${act} is replaced, and what waited is looked at after all`, NO_HANG, () =>
    withInference(["well", "well", act], "keep", async ({ inference, events }) => {
      assert.deepEqual(await Promise.all([0, 1, 2].map((slot) => look(inference, slot))), [1, 2, 3]);
      const [failed, recovered] = events;
      assert.equal(events.length, 2);
      assert.match(failed?.state === "failed" ? failed.reason : "", reason);
      assert.deepEqual(recovered, { state: "recovered", failures: 1 });
    }),
  );

test("live, what waits is given back at once, and later orders until a new worker is there", NO_HANG, () =>
  withInference(["well", "fail"], "release", async ({ inference, events }) => {
    const outcomes = await Promise.allSettled([0, 1, 2].map((slot) => look(inference, slot)));
    for (const outcome of outcomes)
      assert.ok(outcome.status === "rejected" && outcome.reason instanceof InferenceLost, JSON.stringify(outcome));
    assert.equal(inference.isReady, false);
    await assert.rejects(look(inference, 0), InferenceLost);
    while (!inference.isReady) await new Promise((resolve) => setTimeout(resolve, 5));
    assert.equal(await look(inference, 1), 2);
    assert.deepEqual(statesOf(events), ["told to fail", "recovered"]);
  }),
);

for (const onFailure of ["keep", "release"] as const)
  test(`three failures in a row are the end, with the last reason (${onFailure})`, NO_HANG, () =>
    withInference(["well", "fail", "exit", "refuse"], onFailure, async ({ inference, events }) => {
      const first = look(inference, 0);
      const over = /inference failed 3 times in a row, at last because: told to refuse/;
      await assert.rejects(first, onFailure === "keep" ? over : InferenceLost);
      while (inference.fatal === null) await new Promise((resolve) => setTimeout(resolve, 5));
      await assert.rejects(look(inference, 0), over);
      assert.deepEqual(
        events.map((event) => event.state === "failed" && event.retryInMs),
        [100, 400, null],
      );
    }),
  );

test("a good answer in between begins the count anew", NO_HANG, () =>
  withInference(
    ["well", "fail", "well", "well", "fail", "well", "well", "fail"],
    "keep",
    async ({ inference, events }) => {
      for (const slot of [0, 1, 2]) assert.equal(await look(inference, slot), slot + 1);
      assert.equal(inference.fatal, null);
      assert.equal(events.filter(({ state }) => state === "recovered").length, 3);
    },
  ),
);

for (const [act, reason] of [
  ["refuse", /^told to refuse$/],
  ["throw", /^told to throw$/],
  ["exit", /^its thread ended by itself \(code 7\)$/],
  ["hang", new RegExp(`^it did not start within ${LIMIT_MS} ms$`)],
] as const)
  test(`a worker told to ${act} when it starts is refused`, NO_HANG, () =>
    assert.rejects(
      withInference([act], "keep", async () => {}),
      (error: Error) => reason.test(error.message),
    ),
  );

test(
  "closing while it looks, while it hangs and while it is replaced ends, and rejects what waited",
  NO_HANG,
  async () => {
    for (const script of [["well"], ["well", "hang"], ["well", "stick"], ["well", "fail", "hang"]] as const)
      await withInference(script, "keep", async ({ inference, events }) => {
        const waiting = look(inference, 0);
        waiting.catch(() => {});
        while (script.length === 3 && events.length === 0) await new Promise((resolve) => setImmediate(resolve));
        await inference.close();
        if (script.length > 1) await assert.rejects(waiting, /the detector was closed/);
        await assert.rejects(look(inference, 0), /the detector is closed/);
      });
  },
);
