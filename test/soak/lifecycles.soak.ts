import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { test } from "node:test";
import { childCommand } from "../child.fixture.ts";
import { rounds } from "./rounds.fixture.ts";

// A small young generation: by default it grows by 16 MB at once, which would look like a leak.
const CHILD = ["--max-semi-space-size=1", ...childCommand(new URL("lifecycles.child.ts", import.meta.url))];
const MAX_GROWTH_MB = 5;
const TRACER = { GST_TRACERS: "leaks", GST_DEBUG: "GST_TRACER:7", GST_DEBUG_NO_COLOR: "1" };

/** Lines of the tracer about objects that are alive at the end, without its format declarations. */
const leaked = (log: string): string[] => log.split("\n").filter((line) => line.includes(":: object-alive,"));

interface Report {
  readonly pipelines: number;
  /** Pipelines that were garbage-collected. */
  readonly collected: number;
  /** Memory after each third of the run. */
  readonly readingsMb: readonly number[];
}

function run(
  pipelines: number,
  env: Record<string, string>,
): Promise<{ report: Report; log: string; code: number | null }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...CHILD, String(pipelines)], {
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let out = "";
    let log = "";
    child.stdout.on("data", (data) => {
      out += data;
    });
    child.stderr.on("data", (data) => {
      log += data;
    });
    child.on("error", reject);
    child.on("exit", (code) => {
      if (code !== 0) reject(new Error(`the child exited with ${code}: ${log.slice(-2000)}`));
      else resolve({ report: JSON.parse(out) as Report, log, code });
    });
  });
}

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
