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

test("a model that returns NaN fails the graph with the reason, after three attempts", NO_HANG, async () => {
  const { state, reason, events } = await run(detectWith(makeLightModel({ nonsense: true })));
  assert.equal(state, "failed");
  assert.match(reason, /inference failed 3 times in a row; last error: the model gave NaN in its output scores/);
  assert.deepEqual(failuresIn(events), [1, 2, 3]);
});

const failuresIn = (events: readonly GraphEvent[]) =>
  events.flatMap((event) =>
    event.type === "element" && event.event.type === "inference" && event.event.state === "failed"
      ? [event.event.failures]
      : [],
  );
const warningsIn = (events: readonly GraphEvent[]) =>
  events.filter((event) => event.type === "log" && event.level === "warn").length;

/** Four seconds: a busy machine needs a while to start a second worker. */
const LIVE_FRAMES = 100;

/** Concurrent: most of them wait for a limit, or for frames in real time. */
describe("a worker that fails", { concurrency: 3 }, () => {
  for (const act of ["fail", "throw", "hang", "exit"] as const satisfies readonly Act[])
    for (const live of [false, true])
      test(
        `a worker scripted to ${act} ${live ? "live costs inferences, but no frame" : "at pace fast costs nothing"}, and is reported`,
        NO_HANG,
        async () => {
          const model = scriptModel("well", "well", "well", act);
          const { seen, events } = await finished(detectWith(model, SCRIPTED_WORKER), {
            picture: `width=64&height=32&fps=25&frames=${live ? LIVE_FRAMES : 12}`,
            properties: "limit-ms=1000",
            live,
          });
          assert.equal(seen.length, live ? LIVE_FRAMES : 12);
          const inferred = seen.filter(({ detections }) => detections.inferred).length;
          if (live) assert.ok(inferred > 2 && inferred < LIVE_FRAMES, `${inferred} inferences`);
          else assert.equal(inferred, 12);
          assert.deepEqual(failuresIn(events), [1]);
          assert.equal(warningsIn(events), 1);
          assert.ok(live || seen.at(-1)?.detections.inferred);
        },
      );

  test("live, a worker that hangs on its first frame is replaced long before the limit", NO_HANG, async () => {
    const { seen, events } = await finished(detectWith(scriptModel("well", "hang"), SCRIPTED_WORKER), {
      picture: "width=64&height=32&fps=25&frames=60",
      properties: "limit-ms=600000",
      live: true,
    });
    assert.equal(seen.length, 60);
    assert.deepEqual(failuresIn(events), [1]);
  });

  test("the graph reports a stuck thread", NO_HANG, async () => {
    const { events } = await finished(detectWith(scriptModel("well", "well", "stick"), SCRIPTED_WORKER), {
      picture: "width=64&height=32&fps=25&frames=12",
      properties: "limit-ms=1000",
    });
    const stuck = events.flatMap((event) =>
      event.type === "element" && event.event.state === "left-behind" ? [event.event.threads] : [],
    );
    assert.deepEqual(stuck, [1]);
    assert.equal(warningsIn(events), 2);
  });
});

test("live, three failures in a row fail the graph with the reason", NO_HANG, async () => {
  const model = scriptModel("well", "fail", "well", "throw", "well", "exit");
  const { state, reason, events } = await run(detectWith(model, SCRIPTED_WORKER), {
    picture: "width=64&height=32&fps=25&frames=500",
    live: true,
  });
  assert.equal(state, "failed");
  assert.match(reason, /inference failed 3 times in a row; last error: the worker thread exited/);
  assert.deepEqual(failuresIn(events), [1, 2, 3]);
});

test("the graph stops in any state of the worker", NO_HANG, async () => {
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

test("a process that exits during inference exits with its own code", NO_HANG, async () => {
  const program = childCommand(new URL("exit.child.ts", import.meta.url));
  const child = promisify(execFile)(process.execPath, program, { timeout: 30_000 });
  await assert.rejects(child, (error: { code?: number; stderr?: string }) => {
    // onnxruntime may log what this machine lacks; an abort would have another code and its own message.
    assert.equal(error.code, 5, error.stderr);
    assert.doesNotMatch(error.stderr ?? "", /terminate called|Napi::Error|Assertion|FATAL/);
    return true;
  });
});
