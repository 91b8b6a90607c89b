import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { FrameCount } from "../../graphs/runtime/frame-count.ts";
import type { StepStats } from "../../graphs/runtime/stats.ts";
import { collector, compiledLaunch, start } from "../../test/graph.fixture.ts";
import { Terminal } from "../terminal.ts";
import { formatTime } from "../text.ts";
import { formatProgress, formatStats, Status } from "./status.ts";

const plain = (_: unknown, text: string): string => text;
const PROGRESS = { elapsedMs: 2000, frames: 50, fps: 25, positionNs: 1_000_000_000n, durationNs: 4_000_000_000n };

test("a bar with the time that is left, where the end is known", () =>
  assert.equal(
    formatProgress(PROGRESS, plain),
    `▕${"█".repeat(6)}${" ".repeat(18)}▏   25%  0:01.0 of 0:04.0  25.0 fps  0:06 left`,
  ));

test("a full bar is as wide as an empty one", () => {
  const bar = (positionNs: bigint) => formatProgress({ ...PROGRESS, positionNs }, plain).indexOf("▏ ");
  assert.equal(bar(4_000_000_000n), bar(0n));
  assert.equal(bar(5_000_000_000n), bar(0n));
});

test("without an end: how much has come", () =>
  assert.equal(formatProgress({ ...PROGRESS, durationNs: null }, plain), "0:01.0  25.0 fps  50 frames"));

test("times are cut, never rounded up to sixty", () => {
  assert.equal(formatTime(59.99), "0:59.9");
  assert.equal(formatTime(3661.25), "1:01:01.2");
  assert.equal(formatTime(61, 0), "1:01");
});

const step = (part: Partial<StepStats>): StepStats => ({
  segment: "main",
  step: "stage",
  element: "stage",
  kind: "native",
  frames: 10,
  fps: 25,
  meanMs: 1.234,
  p95Ms: 12.5,
  queued: 3,
  capacity: 8,
  dropped: 0,
  ...part,
});

test("aligns numbers, and puts branches below their names", () =>
  assert.deepEqual(
    formatStats(
      [step({}), step({ segment: "lines", step: "show", element: "print", queued: null, meanMs: 0, p95Ms: 0 })],
      plain,
    ),
    [
      "step   element   fps  mean ms  p95 ms  queue  drops",
      "─ main",
      "stage           25.0     1.23   12.50    3/8      0",
      "─ lines",
      "show   print    25.0",
    ],
  ));

test("drops columns on a narrow screen, the drops last", () => {
  assert.deepEqual(formatStats([step({ dropped: 7 })], plain, 30), [
    "step    fps  queue  drops",
    "stage  25.0    3/8      7",
  ]);
});

test("the last readings of a short run are shown, however long its pipeline takes to close", async () => {
  const [out, err] = [new PassThrough(), new PassThrough()];
  const extra = [collector(() => {})];
  let status: Status | null = null;
  const line = 'source uri="test:ball?width=64&height=48&frames=5" pace=fast ! decode ! collect';
  const graph = await start(compiledLaunch(line, ...extra), extra, {
    onBuilt: (_pipeline, _segments, _origins, built) => {
      // It is `running` until it has closed.
      const closing = { pipeline: built.pipeline, segments: () => built.segments(), state: "running" } as typeof built;
      const settings = { stats: true, json: false, quiet: false };
      status = new Status(closing, new FrameCount(), settings, new Terminal(out, err, {}));
    },
    onClosing: () => status?.lastReading(),
  });
  assert.equal((await graph.ended).state, "finished");
  await wait(600); // two readings of the closed pipeline
  (status as Status | null)?.close();
  assert.match(String(err.read()), /^step +element +fps[\s\S]*^collect +[\d.]+/m);
});
