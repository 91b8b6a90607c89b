import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { until } from "../../test/watch.fixture.ts";
import { Inference, type InferenceEvent, InferenceLost, type InferenceSettings } from "./inference.ts";
import { type Act, SCRIPTED_WORKER, scriptModel } from "./worker/script.fixture.ts";

const NO_HANG = { timeout: 120_000 };
/** Long enough for a thread on a busy machine to respond, short enough for a test to wait for a hang. */
const LIMIT_MS = 1500;
/** For scripts without a hang. */
const NO_LIMIT_MS = 60_000;

interface Running {
  readonly inference: Inference;
  readonly events: InferenceEvent[];
}

async function withInference(
  script: readonly Act[],
  onFailure: "keep" | "release",
  work: (running: Running) => Promise<void>,
  change: Partial<InferenceSettings> = {},
): Promise<void> {
  const events: InferenceEvent[] = [];
  const hangsAt = script.findIndex((act) => act === "hang" || act === "stick");
  const inference = await Inference.start({
    model: scriptModel(...script),
    threads: 1,
    providers: ["cpu"],
    slots: 3,
    onFailure,
    limitMs: () => (hangsAt > 0 ? LIMIT_MS : NO_LIMIT_MS),
    onEvent: (event) => events.push(event),
    worker: SCRIPTED_WORKER,
    startLimitMs: hangsAt === 0 ? LIMIT_MS : NO_LIMIT_MS,
    ...change,
  });
  for (const [index, slot] of inference.slots.entries()) slot.fill(index + 1);
  try {
    await work({ inference, events });
  } finally {
    await inference.close();
  }
}

/** The content of the slot at inference. */
const infer = async (inference: Inference, slot: number) => (await inference.infer(slot, 0.1, 0.5)).boxes[0];
const statesOf = (events: readonly InferenceEvent[]) =>
  events.map((event) => (event.state === "failed" ? event.reason : event.state));

/** Concurrent: most of them wait for a limit. */
describe("inference", { concurrency: 4 }, () => {
  test("answers requests in order, each from its own slot", NO_HANG, () =>
    withInference([], "keep", async ({ inference, events }) => {
      assert.deepEqual(await Promise.all([2, 0, 1, 0].map((slot) => infer(inference, slot))), [3, 1, 2, 1]);
      assert.deepEqual(events, []);
    }),
  );

  for (const [act, reason] of [
    ["fail", /^scripted failure$/],
    ["throw", /^scripted throw$/],
    ["exit", /^the worker thread exited with code 7$/],
    ["hang", new RegExp(`^no result within ${LIMIT_MS} ms$`)],
    ["stick", new RegExp(`^no result within ${LIMIT_MS} ms$`)],
  ] as const)
    test(`a worker scripted to ${act} is replaced, and pending requests are repeated`, NO_HANG, () =>
      withInference(["well", "well", act], "keep", async ({ inference, events }) => {
        assert.deepEqual(await Promise.all([0, 1, 2].map((slot) => infer(inference, slot))), [1, 2, 3]);
        const [failed, recovered] = events.filter(({ state }) => state !== "left-behind");
        assert.match(failed?.state === "failed" ? failed.reason : "", reason);
        assert.deepEqual(recovered, { state: "recovered", failures: 1 });
      }),
    );

  for (const act of ["fail", "hang"] as const)
    test(`notifies its owner when a worker scripted to ${act} has ended with its memory`, NO_HANG, async () => {
      let retired = 0;
      const onRetired = (): void => {
        retired += 1;
      };
      const work = async ({ inference }: Running): Promise<void> => {
        assert.deepEqual(await Promise.all([0, 1].map((slot) => infer(inference, slot))), [1, 2]);
        await until(() => retired === 1);
      };
      await withInference(["well", act], "keep", work, { onRetired });
      assert.equal(retired, 1, "not for a closed detector");
    });

  test("live, rejects pending requests at once, and new ones until a new worker is ready", NO_HANG, () =>
    withInference(["well", "fail"], "release", async ({ inference, events }) => {
      const outcomes = await Promise.allSettled([0, 1, 2].map((slot) => infer(inference, slot)));
      for (const outcome of outcomes)
        assert.ok(outcome.status === "rejected" && outcome.reason instanceof InferenceLost, JSON.stringify(outcome));
      assert.equal(inference.isReady, false);
      await assert.rejects(infer(inference, 0), InferenceLost);
      await until(() => inference.isReady);
      assert.equal(await infer(inference, 1), 2);
      assert.deepEqual(statesOf(events), ["scripted failure", "recovered"]);
    }),
  );

  for (const onFailure of ["keep", "release"] as const)
    test(`fails for good after three failures in a row, with the last reason (${onFailure})`, NO_HANG, () =>
      withInference(["well", "fail", "exit", "throw"], onFailure, async ({ inference, events }) => {
        const first = infer(inference, 0);
        const over = /inference failed 3 times in a row; last error: scripted throw/;
        await assert.rejects(first, onFailure === "keep" ? over : InferenceLost);
        await until(() => inference.fatal !== null);
        await assert.rejects(infer(inference, 0), over);
        assert.deepEqual(
          events.map((event) => event.state === "failed" && event.retryInMs),
          [0, 400, null],
        );
      }),
    );

  test("fails for good if a new worker rejects the model, with its reason", NO_HANG, () =>
    withInference(["well", "fail", "refuse"], "keep", async ({ inference, events }) => {
      await assert.rejects(infer(inference, 0), /a new inference worker rejected the model: scripted refusal/);
      assert.deepEqual(
        events.map((event) => event.state === "failed" && event.retryInMs),
        [0, null],
      );
    }),
  );

  for (const onFailure of ["keep", "release"] as const)
    test(`reports and counts stuck threads, and fails for good after three (${onFailure})`, NO_HANG, () =>
      withInference(
        ["well", "stick", "well", "well", "stick", "well", "well", "stick"],
        onFailure,
        async ({ inference, events }) => {
          const stuckThreads = () =>
            events.flatMap((event) => (event.state === "left-behind" ? [event.threads] : [])).at(-1) ?? 0;
          for (const time of [1, 2, 3]) {
            const running = infer(inference, 0);
            if (onFailure === "release") await assert.rejects(running, InferenceLost);
            else if (time < 3) assert.equal(await running, 1);
            else await running.catch(() => {});
            await until(() => stuckThreads() === time && (inference.isReady || time === 3));
            if (time < 3) assert.equal(await infer(inference, 1), 2);
          }
          assert.match(inference.fatal?.message ?? "", /stopped: 3 threads are stuck in native code/);
          await assert.rejects(infer(inference, 0), /3 threads are stuck/);
        },
      ),
    );

  test("passes the duration of the trial to the time limit", NO_HANG, async () => {
    const asked: number[] = [];
    const limitMs = (trialMs: number) => {
      asked.push(trialMs);
      return LIMIT_MS;
    };
    await withInference([], "keep", async ({ inference }) => void (await infer(inference, 0)), { limitMs });
    assert.deepEqual(asked, [1]);
  });

  test("a success resets the count of failures", NO_HANG, () =>
    withInference(
      ["well", "fail", "well", "well", "fail", "well", "well", "fail"],
      "keep",
      async ({ inference, events }) => {
        for (const slot of [0, 1, 2]) assert.equal(await infer(inference, slot), slot + 1);
        assert.equal(inference.fatal, null);
        assert.equal(events.filter(({ state }) => state === "recovered").length, 3);
      },
    ),
  );

  for (const [act, reason] of [
    ["refuse", /^scripted refusal$/],
    ["throw", /^scripted throw$/],
    ["exit", /^the worker thread exited with code 7$/],
    ["hang", new RegExp(`^the worker did not start within ${LIMIT_MS} ms$`)],
  ] as const)
    test(`a worker scripted to ${act} at start rejects the start`, NO_HANG, () =>
      assert.rejects(
        withInference([act], "keep", async () => {}),
        (error: Error) => reason.test(error.message),
      ),
    );

  test("close ends and rejects pending requests, during inference, a hang, and a replacement", NO_HANG, async () => {
    for (const script of [["well"], ["well", "hang"], ["well", "stick"], ["well", "fail", "hang"]] as const)
      await withInference(script, "keep", async ({ inference, events }) => {
        const waiting = infer(inference, 0);
        waiting.catch(() => {});
        while (script.length === 3 && events.length === 0) await new Promise((resolve) => setImmediate(resolve));
        await inference.close();
        if (script.length > 1) await assert.rejects(waiting, /the detector was closed/);
        await assert.rejects(infer(inference, 0), /the detector is closed/);
      });
  });
});
