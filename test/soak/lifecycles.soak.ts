import assert from "node:assert/strict";
import { test } from "node:test";
import { leaked, runLifecycles as run, TRACER } from "./lifecycles.fixture.ts";
import { rounds } from "./rounds.fixture.ts";

const MAX_GROWTH_MB = 5;

test("the leaks tracer reports a pipeline that is never closed", { timeout: 120_000 }, async () => {
  const { log } = await run(1, { ...TRACER, WINDHOVER_LEAK: "1" });
  assert.match(leaked(log).join("\n"), /type-name=\(string\)GstPipeline/);
});

test("creating and destroying pipelines leaks no GStreamer object", {
  timeout: rounds(280_000, 3_600_000),
}, async () => {
  const pipelines = rounds(15, 500);
  const { report, log } = await run(pipelines, TRACER);
  assert.equal(report.pipelines, pipelines);
  assert.equal(report.collected, pipelines);
  assert.deepEqual(leaked(log), []);
});

test("memory stays flat while pipelines are created and destroyed", {
  timeout: rounds(280_000, 3_600_000),
}, async () => {
  const { report } = await run(rounds(60, 500), {});
  const summary = `RSS ${report.readingsMb.map((mb) => mb.toFixed(1)).join(" → ")} MB over ${report.pipelines} pipelines`;
  process.stderr.write(`${summary}\n`);
  assert.equal(report.readingsMb.length, 3);
  // A leak grows in every third; an allocator cache grows in one of them at most.
  const [first = 0, second = 0, third = 0] = report.readingsMb;
  assert.ok(Math.min(second - first, third - second) < MAX_GROWTH_MB, summary);
});
