import assert from "node:assert/strict";
import { test } from "node:test";
import { collector, compiledLaunch, delay, makeClip, pass, start, temporaryFolder } from "../graph.fixture.ts";
import { collectGarbage, progress, rounds, rssMb } from "./rounds.fixture.ts";

const MAX_GROWTH_MB = 10;

test("memory stays flat over many frames", { timeout: rounds(240_000, 1_800_000) }, async () => {
  const total = rounds(3_500, 20_000);
  const warm = rounds(1_500, 2_000);
  let seen = 0;
  let before = 0;
  const sink = collector((frame) => {
    seen++;
    if (seen === warm) {
      collectGarbage();
      before = rssMb();
    }
    if (seen % 500 === 0) collectGarbage();
    assert.equal(frame.meta.delayed, frame.index);
    progress("frames", seen, total);
  });
  const extra = [pass, delay, sink];
  const line = `source uri="test:ball?width=320&height=180&frames=${total}" ! decode ! stage ! pass ! delay ! pass ! collect`;
  const graph = await start(compiledLaunch(line, ...extra), extra);
  assert.deepEqual(await graph.ended, { state: "finished", error: null });
  collectGarbage();
  const growth = rssMb() - before;
  process.stderr.write(`RSS ${before.toFixed(1)} → ${rssMb().toFixed(1)} MB over ${total - warm} frames\n`);
  assert.equal(seen, total);
  assert.ok(
    growth < MAX_GROWTH_MB,
    `RSS grew by ${growth.toFixed(1)} MB over ${total - warm} frames, from ${before.toFixed(0)} MB`,
  );
});

test("memory stays flat while reading the frames of decoded clips", { timeout: 240_000 }, async () => {
  const clip = await makeClip(temporaryFolder(), 200);
  let sum = 0;
  const sink = collector((frame) => {
    sum += frame.planes[0]?.data[0] ?? 0;
  });
  let before = 0;
  const total = rounds(4, 30);
  for (let round = 0; round < total; round++) {
    const graph = await start(compiledLaunch(`source uri="${clip}" ! decode ! collect`, sink), [sink]);
    assert.deepEqual(await graph.ended, { state: "finished", error: null });
    collectGarbage();
    if (round === 1) before = rssMb();
  }
  assert.ok(sum > 0);
  const growth = rssMb() - before;
  assert.ok(growth < MAX_GROWTH_MB, `RSS grew by ${growth.toFixed(1)} MB over ${total - 2} clips`);
});
