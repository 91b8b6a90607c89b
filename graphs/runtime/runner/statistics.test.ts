import assert from "node:assert/strict";
import { test } from "node:test";
import { FileFrames } from "./statistics.ts";

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
