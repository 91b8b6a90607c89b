import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { PlanSegment } from "../../compiler/plan.ts";
import { FileFrames, Statistics } from "./statistics.ts";

const FRAME = 40_000_000n;
const lasting = (frames: number) => ({ duration: async () => FRAME * BigInt(frames) });

test("a file that resumes at its position has lost no frame, despite rounding", () => {
  for (const offNs of [-1n, 0n, 1n, FRAME / 3n]) {
    const frames = new FileFrames();
    frames.onBuilt(lasting(100), FRAME * 20n);
    frames.onFirstFrame({ ptsNs: FRAME * 20n + offNs, durationNs: FRAME });
    assert.equal(frames.framesLost, 0);
  }
});

test("frames between the requested and the actual position are lost", () => {
  const frames = new FileFrames();
  frames.onBuilt(lasting(100), FRAME * 20n);
  frames.onFirstFrame({ ptsNs: FRAME * 27n, durationNs: FRAME });
  assert.equal(frames.framesLost, 7);
  const early = new FileFrames();
  early.onBuilt(lasting(100), FRAME * 20n);
  early.onFirstFrame({ ptsNs: 0n, durationNs: FRAME });
  assert.equal(early.framesLost, 0);
});

test("frames left are known with the duration and the frame rate", async () => {
  const frames = new FileFrames();
  assert.deepEqual(frames.leftAt(0n), {});
  frames.onBuilt(lasting(100), 0n);
  frames.onFirstFrame({ ptsNs: 0n, durationNs: FRAME });
  await Promise.resolve();
  assert.deepEqual(frames.leftAt(FRAME * 40n), { framesLeft: 60 });
  assert.deepEqual(frames.leftAt(FRAME * 101n), { framesLeft: 0 });
  const live = new FileFrames();
  live.onFirstFrame({ ptsNs: 0n, durationNs: FRAME });
  assert.deepEqual([live.framesLost, live.leftAt(0n)], [0, {}]);
});

/** Without frames. */
const idle = { meter: () => {}, meters: () => ({}) } as unknown as Parameters<Statistics["onBuilt"]>[0];
const SEGMENT = {
  name: "main",
  nodes: [{ name: "first", factory: "queue", element: "stage" }],
} as unknown as PlanSegment;

test("the loop delay is the longest one since the last reading, and next to nothing in an idle process", async () => {
  const statistics = new Statistics();
  statistics.onBuilt(idle, [SEGMENT], ["first"]);
  const read = () => statistics.read(null, [SEGMENT]).loop_delay_ms;
  const busyUntilMs = performance.now() + 400;
  while (performance.now() < busyUntilMs);
  await sleep(150);
  assert.ok(read() >= 200);
  assert.equal(read(), 0);
  statistics.close();
});

test("dropped frames include those of branches that were attached or detached while it runs", () => {
  const dropped: Record<string, number> = {};
  const metered = new Map<string, string>();
  const pipeline = {
    meter: (name: string, first: string) => void metered.set(name, first),
    meters: (names: readonly string[]) =>
      Object.fromEntries(
        names.flatMap((name) => {
          const count = dropped[metered.get(name) ?? ""];
          return count === undefined ? [] : [[name, { dropped: count }]];
        }),
      ),
  } as unknown as Parameters<Statistics["onBuilt"]>[0];
  const segment = (name: string): PlanSegment =>
    ({ name, nodes: [{ name: `${name}-queue`, factory: "queue", element: "stage" }] }) as unknown as PlanSegment;
  const [main, added, slot] = [segment("main"), segment("added"), segment("view:1")];
  const statistics = new Statistics();
  statistics.onBuilt(pipeline, [main], ["main-queue"]);
  dropped["main-queue"] = 2;
  const read = (...segments: readonly PlanSegment[]) => statistics.read(null, segments).frames_dropped;
  assert.equal(read(main, slot), 2);
  dropped["added-queue"] = 3;
  assert.equal(read(main, added), 5);
  dropped["main-queue"] = 4;
  assert.equal(read(main), 7, "those of the detached branch still count");
  dropped["added-queue"] = 1;
  assert.equal(read(main, added), 8);
  statistics.close();
});
