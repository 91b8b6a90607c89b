import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { describe, test } from "node:test";
import { promisify } from "node:util";
import type { GraphEvent } from "../../graphs/runtime/events.ts";
import { childCommand } from "../../test/child.fixture.ts";
import { collector, compiledLaunch, start } from "../../test/graph.fixture.ts";
import { makeLightModel } from "./detect.fixture.ts";
import { detectWith, finished, run } from "./run.fixture.ts";
import { type Act, SCRIPTED_WORKER, scriptModel } from "./worker/script.fixture.ts";

const NO_HANG = { timeout: 120_000 };
const light = makeLightModel();

test(
  "a model that gives nonsense ends the graph with the reason, after it was tried three times",
  NO_HANG,
  async () => {
    const { state, reason, events } = await run(detectWith(makeLightModel({ nonsense: true })));
    assert.equal(state, "failed");
    assert.match(reason, /inference failed 3 times in a row, at last because: the model gave NaN in its output scores/);
    assert.deepEqual(failuresIn(events), [1, 2, 3]);
  },
);

const failuresIn = (events: readonly GraphEvent[]) =>
  events.flatMap((event) =>
    event.type === "element" && event.event.type === "inference" && event.event.state === "failed"
      ? [event.event.failures]
      : [],
  );
const warningsIn = (events: readonly GraphEvent[]) =>
  events.filter((event) => event.type === "log" && event.level === "warn").length;

/** Four seconds of them: a busy machine needs a while to load a second worker and to look again. */
const LIVE_FRAMES = 100;

/** Side by side: most of them wait for a limit, or for pictures at their pace. */
describe("a worker that does not do its work", { concurrency: 3 }, () => {
  for (const act of ["fail", "throw", "hang", "exit"] as const satisfies readonly Act[])
    for (const live of [false, true])
      test(
        `a worker told to ${act} ${live ? "live costs looks and no frame" : "at pace fast costs nothing"}, and the graph says so`,
        NO_HANG,
        async () => {
          const model = scriptModel("well", "well", "well", act);
          const { seen, events } = await finished(detectWith(model, SCRIPTED_WORKER), {
            picture: `width=64&height=32&fps=25&frames=${live ? LIVE_FRAMES : 12}`,
            properties: "limit-ms=1000",
            live,
          });
          assert.equal(seen.length, live ? LIVE_FRAMES : 12);
          const looked = seen.filter(({ detections }) => detections.inferred).length;
          if (live) assert.ok(looked > 2 && looked < LIVE_FRAMES, `${looked} were looked at`);
          else assert.equal(looked, 12);
          assert.deepEqual(failuresIn(events), [1]);
          assert.equal(warningsIn(events), 1);
          assert.ok(live || seen.at(-1)?.detections.inferred);
        },
      );

  test("live, a worker that hangs on its first frame is given up long before the limit", NO_HANG, async () => {
    const { seen, events } = await finished(detectWith(scriptModel("well", "hang"), SCRIPTED_WORKER), {
      picture: "width=64&height=32&fps=25&frames=60",
      properties: "limit-ms=600000",
      live: true,
    });
    assert.equal(seen.length, 60);
    assert.deepEqual(failuresIn(events), [1]);
  });

  test("a thread left behind is told of by the graph", NO_HANG, async () => {
    const { events } = await finished(detectWith(scriptModel("well", "well", "stick"), SCRIPTED_WORKER), {
      picture: "width=64&height=32&fps=25&frames=12",
      properties: "limit-ms=1000",
    });
    const told = events.flatMap((event) =>
      event.type === "element" && event.event.state === "left-behind" ? [event.event.threads] : [],
    );
    assert.deepEqual(told, [1]);
    assert.equal(warningsIn(events), 2);
  });
});

test("live, three failures in a row end the graph with the reason", NO_HANG, async () => {
  const model = scriptModel("well", "fail", "well", "throw", "well", "exit");
  const { state, reason, events } = await run(detectWith(model, SCRIPTED_WORKER), {
    picture: "width=64&height=32&fps=25&frames=500",
    live: true,
  });
  assert.equal(state, "failed");
  assert.match(reason, /inference failed 3 times in a row, at last because: its thread ended by itself/);
  assert.deepEqual(failuresIn(events), [1, 2, 3]);
});

test("a stop at any moment ends, whatever the worker is doing", NO_HANG, async () => {
  for (const [index, script] of [[], ["well", "hang"], ["well", "fail", "hang"], ["well", "well", "stick"]].entries())
    for (const live of [false, true]) {
      let frames = 0;
      const collect = collector(() => {
        frames += 1;
      });
      const model = index === 0 ? light : scriptModel(...(script as Act[]));
      const element = detectWith(model, index === 0 ? undefined : SCRIPTED_WORKER);
      const line = `source uri="test:ball?width=64&height=32&fps=25" pace=${live ? "realtime" : "fast"} ! decode ! detect ! collect`;
      const abort = new AbortController();
      const graph = await start(compiledLaunch(line, element, collect), [element, collect], { signal: abort.signal });
      while (index === 0 && frames < 5) await new Promise((resolve) => setTimeout(resolve, 1));
      abort.abort();
      assert.deepEqual(await graph.ended, { state: "finished", error: null });
    }
});

test("a process that exits while it looks exits with its own code", NO_HANG, async () => {
  const program = childCommand(new URL("exit.child.ts", import.meta.url));
  const child = promisify(execFile)(process.execPath, program, { timeout: 30_000 });
  await assert.rejects(child, (error: { code?: number; stderr?: string }) => {
    // onnxruntime may say what it misses on this machine; an abort would have another code, and words of its own.
    assert.equal(error.code, 5, error.stderr);
    assert.doesNotMatch(error.stderr ?? "", /terminate called|Napi::Error|Assertion|FATAL/);
    return true;
  });
});
