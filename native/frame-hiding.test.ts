import assert from "node:assert/strict";
import test from "node:test";
import type { NativeFrame } from "./frame.ts";
import { NO_HANG, pictures, play, sink, transform } from "./pipeline.fixture.ts";

const [WIDTH, HEIGHT] = [64, 48];
const caps = (pixels: string) => `video/x-raw,format=${pixels},width=${WIDTH},height=${HEIGHT},framerate=30/1`;

/** Planes without padding, each with its samples: Y, U, V. */
function samplesOf(frame: NativeFrame, pixels: string): readonly Uint8Array[] {
  const all = frame.copy();
  const luma = WIDTH * HEIGHT;
  const chroma = all.slice(luma);
  const half = chroma.length / 2;
  if (pixels === "I420") return [all.slice(0, luma), chroma.slice(0, half), chroma.slice(half)];
  const every = (first: number) => chroma.filter((_, at) => at % 2 === first);
  return [all.slice(0, luma), every(0), every(1)];
}

/** Random samples; `seed` per frame. */
function scramble(frame: NativeFrame, seed: number): void {
  let state = seed + 1;
  for (const { data } of frame.planes)
    for (let at = 0; at < data.length; at++) {
      state = (state * 48_271) % 2_147_483_647;
      data[at] = state % 256;
    }
}

/** The planes before and after. */
async function hide(
  shape: object,
  pixels: string,
  paint: (frame: NativeFrame) => void = (frame) => scramble(frame, 7),
) {
  let before: readonly Uint8Array[] = [];
  let after: readonly Uint8Array[] = [];
  const draw = transform(
    async (frame) => {
      paint(frame);
      before = samplesOf(frame, pixels);
      await frame.draw([{ kind: "hide", ...shape }]);
    },
    { access: "write" },
  );
  const look = sink((frame) => {
    after = samplesOf(frame, pixels);
  });
  await play({ ...pictures(1, caps(pixels)), draw: [draw], look: [look] });
  return { before, after };
}

const AREA = { x: 13, y: 9, width: 30, height: 25 };
/** Outwards to even pixels. */
const [LEFT, TOP, RIGHT, BOTTOM] = [12, 8, 44, 34];

for (const pixels of ["I420", "NV12"])
  for (const smooth of [false, true])
    test(`changes only the rectangle of ${pixels} (${smooth ? "smooth" : "blocks"})`, NO_HANG, async () => {
      const { before, after } = await hide({ ...AREA, block: 8, smooth }, pixels);
      for (const [plane, samples] of after.entries()) {
        const scale = plane === 0 ? 1 : 2;
        const row = WIDTH / scale;
        let changed = 0;
        for (const [at, sample] of samples.entries()) {
          const [x, y] = [(at % row) * scale, Math.floor(at / row) * scale];
          const isInside = x >= LEFT && x < RIGHT && y >= TOP && y < BOTTOM;
          if (!isInside) assert.equal(sample, before[plane]?.[at], `plane ${plane} at ${x}, ${y}`);
          else if (sample !== before[plane]?.[at]) changed += 1;
        }
        assert.ok(changed > (0.9 * (RIGHT - LEFT) * (BOTTOM - TOP)) / scale ** 2, `plane ${plane}: ${changed}`);
      }
    });

for (const pixels of ["I420", "NV12"])
  test(`a block of ${pixels} is its mean, on a grid of the frame`, NO_HANG, async () => {
    const { before, after } = await hide({ ...AREA, block: 8 }, pixels);
    for (const [plane, samples] of after.entries()) {
      const scale = plane === 0 ? 1 : 2;
      const [row, block] = [WIDTH / scale, 8 / scale];
      const means = new Map<string, { sum: number; count: number; shown: Set<number> }>();
      for (let y = TOP / scale; y < BOTTOM / scale; y++)
        for (let x = LEFT / scale; x < RIGHT / scale; x++) {
          const key = `${Math.floor(x / block)},${Math.floor(y / block)}`;
          const cell = means.get(key) ?? { sum: 0, count: 0, shown: new Set() };
          cell.sum += before[plane]?.[y * row + x] ?? 0;
          cell.count += 1;
          cell.shown.add(samples[y * row + x] ?? 0);
          means.set(key, cell);
        }
      assert.equal(means.size, 5 * 4);
      for (const { sum, count, shown } of means.values())
        assert.deepEqual([...shown], [Math.floor((sum + Math.floor(count / 2)) / count)]);
    }
  });

test(
  "smooth hiding shows nothing but the means: pixels that change places in a block change nothing",
  NO_HANG,
  async () => {
    const turned = (frame: NativeFrame) => {
      scramble(frame, 7);
      const { data, stride } = frame.planes[0] ?? assert.fail();
      for (let y = 0; y < HEIGHT; y += 8)
        for (let x = 0; x < WIDTH; x += 8) {
          const cells = Array.from({ length: 64 }, (_, i) => (y + (i >> 3)) * stride + x + (i & 7));
          const values = cells.map((at) => data[at] ?? 0).reverse();
          for (const [i, at] of cells.entries()) data[at] = values[i] ?? 0;
        }
    };
    const whole = { x: 8, y: 8, width: 32, height: 24, block: 8, smooth: true };
    const [one, other] = [await hide(whole, "I420"), await hide(whole, "I420", turned)];
    const inside = ({ after: [luma = new Uint8Array()] }: typeof one) =>
      luma.filter((_, at) => at % WIDTH >= 8 && at % WIDTH < 40 && at >= 8 * WIDTH && at < 32 * WIDTH);
    assert.equal(inside(one).length, 32 * 24);
    assert.deepEqual(inside(one), inside(other));
  },
);

test("smooth hiding has no edges between blocks", NO_HANG, async () => {
  const ramp = (frame: NativeFrame) => {
    const { data, stride } = frame.planes[0] ?? assert.fail();
    for (let y = 0; y < HEIGHT; y++) for (let x = 0; x < WIDTH; x++) data[y * stride + x] = 3 * x + y;
  };
  const { after } = await hide({ x: 0, y: 0, width: WIDTH, height: HEIGHT, block: 8, smooth: true }, "I420", ramp);
  const [luma = new Uint8Array()] = after;
  for (let y = 4; y < HEIGHT - 4; y++)
    for (let x = 4; x < WIDTH - 4; x++)
      assert.ok(Math.abs((luma[y * WIDTH + x] ?? 0) - (3 * x + y)) <= 2, `${x}, ${y}: ${luma[y * WIDTH + x]}`);
});

test("clips a rectangle far outside of the frame, and a block larger than it", NO_HANG, async () => {
  const far = await hide({ x: 1e300, y: -1e300, width: 5, height: 5, block: 8 }, "I420");
  assert.deepEqual(far.after, far.before);
  const { after } = await hide({ x: -1e9, y: -1e9, width: 1e300, height: 1e300, block: 1e300 }, "NV12");
  for (const samples of after) assert.equal(new Set(samples).size, 1);
});
