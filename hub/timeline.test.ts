import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FORWARD_US, MIN_STEP_US, Timeline, type Times } from "./timeline.ts";

const STEP = 40_000;
const DAY = 86_400_000_000;

interface Shown {
  readonly pts: number | null;
  readonly dts?: number | null;
  readonly isB?: boolean;
  /** On the local clock; the publisher's step by default. */
  readonly afterUs?: number;
}

function run(line: Timeline, pictures: readonly Shown[]): Times[] {
  let nowUs = 1_000_000;
  return pictures.map(({ pts, dts = null, isB = false, afterUs = STEP }) => {
    nowUs += afterUs;
    return line.placePicture(pts, dts, isB, nowUs);
  });
}

/** Pictures in the order in which they come, of groups that are shown in another: `[0, 3, 1, 2]`. */
const groups = (order: readonly number[], count: number, fromUs = 0): Shown[] =>
  Array.from({ length: count }, (_, group) =>
    order.map((place, i) => ({
      pts: fromUs + (group * order.length + place) * STEP,
      isB: order.slice(0, i).some((earlier) => earlier > place),
    })),
  ).flat();

test("a regular stream keeps its timestamps, starting at zero", () => {
  const times = run(
    new Timeline(),
    Array.from({ length: 50 }, (_, i) => ({ pts: DAY + i * STEP })),
  );
  assert.deepEqual(
    times,
    times.map((_, i) => ({ ptsUs: i * STEP, dtsUs: i * STEP })),
  );
});

for (const [depth, order] of [
  [1, [0, 3, 1, 2]],
  [2, [0, 4, 2, 1, 3]],
  [2, [0, 2, 1]],
  [3, [0, 8, 4, 2, 1, 3, 6, 5, 7]],
] as const) {
  test(`pictures in the order ${order.join(" ")} are shown as they should be and decoded before that`, () => {
    const line = new Timeline();
    line.setDepth(depth);
    const sent = groups(order, 20, DAY);
    const times = run(line, sent);
    const [first] = times;
    assert.ok(first && first.dtsUs === 0);
    times.forEach(({ ptsUs, dtsUs }, i) => {
      assert.equal(ptsUs - first.ptsUs, (sent[i]?.pts ?? 0) - (sent[0]?.pts ?? 0));
      assert.ok(dtsUs <= ptsUs);
      if (i > depth) assert.equal(dtsUs - (times[i - 1]?.dtsUs ?? 0), STEP);
    });
  });
}

test("learns an unstated reorder depth with the first group", () => {
  const line = new Timeline();
  const sent = groups([0, 3, 1, 2], 20);
  const times = run(line, sent);
  assert.equal(line.depth, 1);
  for (let i = 8; i < times.length; i++) {
    assert.equal((times[i]?.ptsUs ?? 0) - (times[8]?.ptsUs ?? 0), (sent[i]?.pts ?? 0) - (sent[8]?.pts ?? 0));
    assert.equal((times[i]?.dtsUs ?? 0) - (times[i - 1]?.dtsUs ?? 0), STEP);
  }
});

test("keeps stated decoding times", () => {
  const sent = groups([0, 3, 1, 2], 5, DAY).map(({ pts, ...more }, i) => ({
    ...more,
    pts: (pts ?? 0) + STEP,
    dts: DAY + i * STEP,
  }));
  assert.deepEqual(
    run(new Timeline(), sent),
    sent.map(({ pts, dts }) => ({ ptsUs: pts - DAY, dtsUs: dts - DAY })),
  );
});

test("pictures without a timestamp continue at the learnt or arrival pace", () => {
  const some = run(new Timeline(), [
    { pts: 0 },
    { pts: STEP },
    { pts: 2 * STEP },
    { pts: null, afterUs: 5 },
    { pts: 4 * STEP },
  ]);
  assert.deepEqual(
    some.map(({ ptsUs }) => ptsUs / STEP),
    [0, 1, 2, 3, 4],
  );
  const none = run(
    new Timeline(),
    Array.from({ length: 5 }, () => ({ pts: null })),
  );
  assert.deepEqual(
    none.map(({ ptsUs }) => ptsUs / STEP),
    [0, 1, 2, 3, 4],
  );
});

test("a clock that stands still is replaced by ours", () => {
  const times = run(
    new Timeline(),
    Array.from({ length: 100 }, () => ({ pts: 77, dts: 77 })),
  );
  assert.ok((times.at(-1)?.dtsUs ?? 0) > 90 * 33_000);
});

test("pictures keep the pace of their arrival if the publisher's clock is of no use", () => {
  for (const clock of [() => 77, (i: number) => i * 4_294_967_000, (i: number) => (i % 2) * DAY]) {
    const times = run(
      new Timeline(),
      Array.from({ length: 50 }, (_, i) => ({ pts: clock(i), dts: clock(i), afterUs: 100_000 })),
    );
    assert.deepEqual(
      times.map(({ ptsUs }) => ptsUs),
      times.map((_, i) => i * 100_000),
    );
  }
});

test("ignores decoding times after those of display, and keeps the order of pictures", () => {
  const sent = groups([0, 3, 1, 2], 10, DAY).map((one, i) => ({ ...one, dts: DAY + i * STEP }));
  const times = run(new Timeline(), sent);
  const shown = times.slice(4).map(({ ptsUs }) => ptsUs);
  assert.deepEqual(
    shown,
    sent.slice(4).map(({ pts }) => (pts ?? 0) - DAY),
  );
});

test("bridges clock jumps, forward and back, and keeps the order of pictures", () => {
  for (const jump of [DAY, -DAY, -2_000_000, 2 ** 32 * 1000, -(2 ** 32) * 1000]) {
    const line = new Timeline();
    line.setDepth(1);
    const sent = [...groups([0, 3, 1, 2], 5, 10 * DAY), ...groups([0, 3, 1, 2], 5, 10 * DAY + 20 * STEP + jump)];
    const times = run(line, sent);
    times.forEach(({ dtsUs }, i) => {
      if (i > 0) assert.ok(dtsUs - (times[i - 1]?.dtsUs ?? 0) <= 3 * STEP, `picture ${i} after ${jump}`);
    });
    const tail = times.slice(22).map(({ ptsUs }, i) => ptsUs - (sent[i + 22]?.pts ?? 0));
    assert.equal(new Set(tail).size, 1);
  }
});

test("a pause that really was one stays in the times", () => {
  const times = run(new Timeline(), [{ pts: 0 }, { pts: STEP }, { pts: 60_000_000, afterUs: 60_000_000 }]);
  assert.equal(times.at(-1)?.ptsUs, 60_000_000);
});

test("keeps audio in sync with video, at the start and at jumps", () => {
  const line = new Timeline();
  assert.equal(line.placeAudio(DAY, 0), null);
  line.placePicture(DAY, null, false, 0);
  assert.equal(line.placeAudio(DAY - 100_000, 10), null);
  assert.deepEqual(line.placeAudio(DAY + 10_000, 20), { dtsUs: 10_000, ptsUs: 10_000 });
  assert.equal(line.placePicture(DAY + STEP, null, false, 30)?.ptsUs, STEP);
  const shown = line.placePicture(5000, null, false, 40).ptsUs;
  assert.equal(line.placeAudio(DAY + 31_000, 50)?.ptsUs, 31_000);
  assert.equal(line.placeAudio(5000 + 12_000, 60)?.ptsUs, shown + 12_000);
});

test("audio with an unrelated clock starts with the video", () => {
  const line = new Timeline();
  line.placePicture(0, null, false, 0);
  line.placePicture(STEP, null, false, STEP);
  assert.equal(line.placeAudio(DAY, STEP)?.ptsUs, STEP);
  assert.equal(line.placeAudio(DAY + 21_333, 2 * STEP)?.ptsUs, STEP + 21_333);
});

test("for any timestamps, DTS strictly increases, times are whole, and PTS is not before DTS", () => {
  const time = fc.oneof(
    fc.integer({ min: 0, max: 2_000_000 }),
    fc.integer({ min: -(2 ** 49), max: 2 ** 49 }),
    fc.double(),
    fc.constantFrom(null, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.MAX_VALUE),
  );
  const unit = fc.record({
    kind: fc.constantFrom("video", "audio"),
    pts: time,
    dts: fc.oneof(fc.constant(null), time),
    isB: fc.boolean(),
    afterUs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 10_000_000 })),
  });
  fc.assert(
    fc.property(fc.array(unit, { maxLength: 60 }), fc.nat(20), (units, depth) => {
      const line = new Timeline();
      line.setDepth(depth);
      let nowUs = 0;
      const last: Record<string, { dtsUs: number; nowUs: number }> = {};
      for (const { kind, pts, dts, isB, afterUs } of units) {
        nowUs += afterUs;
        const times = kind === "video" ? line.placePicture(pts, dts, isB, nowUs) : line.placeAudio(pts, nowUs);
        if (times === null) continue;
        assert.ok(Number.isSafeInteger(times.dtsUs) && Number.isSafeInteger(times.ptsUs), JSON.stringify(times));
        assert.ok(times.ptsUs >= times.dtsUs && times.dtsUs >= 0, JSON.stringify(times));
        const before = last[kind];
        if (before !== undefined) {
          assert.ok(times.dtsUs >= before.dtsUs + MIN_STEP_US, `${times.dtsUs} after ${before.dtsUs}`);
          assert.ok(times.dtsUs - before.dtsUs <= FORWARD_US + 1_100_000 + (nowUs - before.nowUs), "a gap");
        }
        last[kind] = { dtsUs: times.dtsUs, nowUs };
      }
    }),
    { numRuns: 2000 },
  );
});
