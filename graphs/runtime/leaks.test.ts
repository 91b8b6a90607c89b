import assert from "node:assert/strict";
import { test } from "node:test";
import { leaked, runLifecycles, TRACER } from "../../test/soak/lifecycles.fixture.ts";

/** Each kind of them once. */
const GRAPHS = 5;

test("a graph that has ended leaves no GStreamer object, and can be collected", async () => {
  const { report, log } = await runLifecycles(GRAPHS, TRACER);
  assert.equal(report.pipelines, GRAPHS);
  assert.equal(report.collected, GRAPHS);
  assert.deepEqual(leaked(log), []);
});
