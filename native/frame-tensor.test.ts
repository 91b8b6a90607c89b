import assert from "node:assert/strict";
import test from "node:test";
import { Worker } from "node:worker_threads";
import type { NativeFrame } from "./frame.ts";
import { NO_HANG, pictures, play, sink } from "./pipeline.fixture.ts";

const SIZE = { width: 64, height: 48 };
const caps = (pixels: string, { width, height } = SIZE) =>
  `video/x-raw,format=${pixels},width=${width},height=${height},framerate=30/1${pixels === "RGB" ? "" : YUV}`;
const YUV = ",colorimetry=bt601,chroma-site=jpeg";

interface Order {
  readonly width: number;
  readonly height: number;
  readonly fit: "letterbox" | "stretch";
  readonly layout: "nchw" | "nhwc";
  readonly colours: "rgb" | "bgr";
  readonly mean?: readonly number[];
  readonly std?: readonly number[];
  readonly padding?: number;
  readonly anchor?: "centre" | "top-left";
  readonly region?: { x: number; y: number; width: number; height: number };
}
const PLAIN: Order = { width: 24, height: 18, fit: "stretch", layout: "nhwc", colours: "rgb" };

/** Mean of the samples from `from` to `to`; beyond the ends the last one is repeated. */
function mean(sample: (index: number) => number, from: number, to: number): number {
  let sum = 0;
  for (let index = Math.floor(from); index < to; index += 1)
    sum += sample(index) * (Math.min(to, index + 1) - Math.max(from, index));
  return sum / (to - from);
}

/** One plane at one position of the tensor, by definition. */
function sampled(plane: Plane, scale: number, x: readonly number[], y: readonly number[]): number {
  const span = ([from = 0, to = 0]: readonly number[]): [number, number] => {
    const centre = (from + to) / 2 / scale;
    const half = Math.max((to - from) / scale, 1) / 2;
    return [centre - half, centre + half];
  };
  const clamp = (value: number, limit: number) => Math.min(Math.max(value, 0), limit - 1);
  return mean(
    (row) =>
      mean(
        (column) => plane.data[clamp(row, plane.height) * plane.stride + clamp(column, plane.width)] ?? 0,
        ...span(x),
      ),
    ...span(y),
  );
}

interface Plane {
  readonly data: Uint8Array;
  readonly stride: number;
  readonly width: number;
  readonly height: number;
}

/** The whole frame stretched, in RGB, rows of pixels. BT.601 as in its definition. */
function reference(planes: readonly Plane[], frame: typeof SIZE, { width, height }: Order): number[] {
  const [luma, u, v] = planes as [Plane, Plane, Plane];
  const stepX = frame.width / width;
  const stepY = frame.height / height;
  const clamp = (value: number) => Math.min(Math.max(value, 0), 255);
  return Array.from({ length: width * height }, (_, at) => {
    const x = [(at % width) * stepX, ((at % width) + 1) * stepX];
    const y = [Math.floor(at / width) * stepY, (Math.floor(at / width) + 1) * stepY];
    const light = ((sampled(luma, 1, x, y) - 16) * 255) / 219;
    const blue = ((sampled(u, 2, x, y) - 128) * 255) / 224;
    const red = ((sampled(v, 2, x, y) - 128) * 255) / 224;
    return [light + 1.402 * red, light - 0.344136 * blue - 0.714136 * red, light + 1.772 * blue].map(clamp);
  }).flat();
}

/** NV12 with separated chroma. */
function separate(frame: NativeFrame): readonly Plane[] {
  const [luma, pairs] = frame.planes as [Plane, Plane];
  if (frame.planes.length === 3) return frame.planes;
  const { width, height, stride } = pairs;
  const take = (offset: number): Plane => ({
    data: Uint8Array.from({ length: width * height }, (_, at) => {
      return pairs.data[Math.floor(at / width) * stride + (at % width) * 2 + offset] ?? 0;
    }),
    stride: width,
    width,
    height,
  });
  return [luma, take(0), take(1)];
}

/** Runs `work` on one frame with many colours and edges. */
async function withFrame(work: (frame: NativeFrame) => unknown, pixels = "I420", size = SIZE): Promise<void> {
  await play({
    ...pictures(1, caps(pixels, size), { pattern: "smpte" }),
    look: [sink(work)],
  });
}

function assertNear(found: ArrayLike<number>, expected: ArrayLike<number>, tolerance: number): void {
  assert.equal(found.length, expected.length);
  let worst = 0;
  let at = 0;
  for (let index = 0; index < expected.length; index += 1) {
    const off = Math.abs((found[index] ?? Number.NaN) - (expected[index] ?? Number.NaN));
    if (!(off <= worst)) [worst, at] = [off, index];
  }
  assert.ok(worst <= tolerance, `value ${at} is ${found[at]} and should be ${expected[at]} ± ${tolerance}`);
}

for (const pixels of ["I420", "NV12"])
  for (const [width, height] of [
    [24, 18],
    [17, 31],
    [64, 48],
    [100, 75],
    [1, 1],
  ] as const)
    test(`${pixels} becomes ${width} x ${height} as defined`, NO_HANG, async () => {
      const order = { ...PLAIN, width, height };
      await withFrame(async (frame) => {
        const expected = reference(separate(frame), SIZE, order);
        const floats = new Float32Array(3 * width * height);
        await frame.tensor(floats, order);
        assertNear(floats, expected, 1.5);
        const bytes = new Uint8Array(3 * width * height);
        await frame.tensor(bytes, order);
        assertNear(bytes, expected, 2);
      }, pixels);
    });

test("uses all pixels of an odd frame", NO_HANG, async () => {
  const size = { width: 45, height: 27 };
  await withFrame(
    async (frame) => {
      const floats = new Float32Array(3 * PLAIN.width * PLAIN.height);
      await frame.tensor(floats, PLAIN);
      assertNear(floats, reference(frame.planes, size, PLAIN), 1.5);
    },
    "I420",
    size,
  );
});

test("layout and colour order change only the positions of values", NO_HANG, async () => {
  await withFrame(async (frame) => {
    const pixels = PLAIN.width * PLAIN.height;
    const fill = async (change: Partial<Order>) => {
      const target = new Uint8Array(3 * pixels);
      await frame.tensor(target, { ...PLAIN, ...change });
      return target;
    };
    const rgb = await fill({});
    const bgr = await fill({ colours: "bgr" });
    const planar = await fill({ layout: "nchw" });
    const at = (pixel: number, colour: number) => rgb[pixel * 3 + colour];
    for (let pixel = 0; pixel < pixels; pixel += 1) {
      assert.deepEqual([...bgr.subarray(pixel * 3, pixel * 3 + 3)], [at(pixel, 2), at(pixel, 1), at(pixel, 0)]);
      assert.deepEqual(
        [0, 1, 2].map((colour) => planar[colour * pixels + pixel]),
        [0, 1, 2].map((colour) => at(pixel, colour)),
      );
    }
  });
});

test("applies mean and std to each colour", NO_HANG, async () => {
  await withFrame(async (frame) => {
    const plain = new Float32Array(3 * PLAIN.width * PLAIN.height);
    await frame.tensor(plain, PLAIN);
    const normal = new Float32Array(plain.length);
    const mean = [123.7, 116.3, 103.5] as const;
    const std = [58.4, -2, 0.5] as const;
    await frame.tensor(normal, { ...PLAIN, mean, std });
    const expected = plain.map((value, index) => (value - (mean[index % 3] ?? 0)) / (std[index % 3] ?? 1));
    assertNear(normal, expected, 0.01);
  });
});

for (const [anchor, offset] of [
  ["centre", 12],
  ["top-left", 0],
] as const)
  test(`letterbox keeps the aspect, pads from ${anchor} and returns the geometry`, NO_HANG, async () => {
    await withFrame(async (frame) => {
      const order: Order = { ...PLAIN, width: 96, height: 96, fit: "letterbox", anchor, padding: 7 };
      const target = new Uint8Array(3 * 96 * 96);
      const geometry = await frame.tensor(target, order);
      assert.deepEqual(geometry, { scaleX: 1.5, scaleY: 1.5, offsetX: 0, offsetY: offset, originX: 0, originY: 0 });
      const inside = new Uint8Array(3 * 96 * 72);
      await frame.tensor(inside, { ...PLAIN, width: 96, height: 72 });
      assert.deepEqual(target.subarray(offset * 288, offset * 288 + inside.length), inside);
      const padding = [...target.subarray(0, offset * 288), ...target.subarray((offset + 72) * 288)];
      assert.deepEqual(new Set(padding), new Set([7]));
    });
  });

test("reads no pixel outside of the region", NO_HANG, async () => {
  await withFrame(async (frame) => {
    const region = { x: 0.25, y: 0.5, width: 0.5, height: 0.25 };
    const target = new Float32Array(3 * 32 * 12);
    const geometry = await frame.tensor(target, { ...PLAIN, width: 32, height: 12, region });
    assert.deepEqual(geometry, { scaleX: 1, scaleY: 1, offsetX: 0, offsetY: 0, originX: 16, originY: 24 });
    const whole = new Float32Array(3 * 64 * 48);
    await frame.tensor(whole, { ...PLAIN, ...SIZE });
    const rows = Array.from({ length: 12 }, (_, y) => {
      const start = ((24 + y) * 64 + 16) * 3;
      return [...whole.subarray(start, start + 32 * 3)];
    });
    // Chroma at the edge of the region has no neighbours outside of it.
    const inner = (values: readonly number[]) =>
      values.filter((_, at) => {
        const x = Math.floor(at / 3) % 32;
        const y = Math.floor(at / 3 / 32);
        return x > 1 && x < 30 && y > 1 && y < 10;
      });
    assertNear(inner([...target]), inner(rows.flat()), 1);
  });
});

test("fills a target in shared memory", NO_HANG, async () => {
  await withFrame(async (frame) => {
    const values = 3 * PLAIN.width * PLAIN.height;
    const shared = new Float32Array(new SharedArrayBuffer(4 * (values + 10)), 40, values);
    await frame.tensor(shared, PLAIN);
    const own = new Float32Array(values);
    await frame.tensor(own, PLAIN);
    const read = `const { parentPort, workerData } = require("node:worker_threads");
      parentPort.postMessage(Float32Array.from(workerData));`;
    const worker = new Worker(read, { eval: true, workerData: shared });
    const seen = await new Promise<Float32Array>((resolve) => worker.once("message", resolve));
    assert.deepEqual(seen, own);
  });
});

test("executes several orders of one frame, awaited or not", NO_HANG, async () => {
  const values = 3 * PLAIN.width * PLAIN.height;
  const late = new Uint8Array(values);
  const together = [new Uint8Array(values), new Uint8Array(values)];
  await withFrame(async (frame) => {
    await Promise.all(together.map((target) => frame.tensor(target, PLAIN)));
    void frame.tensor(late, PLAIN);
  });
  assert.deepEqual(together[0], together[1]);
  assert.deepEqual(late, together[0]);
});

for (const [behaviour, target, change, message] of [
  ["a target that is too small", new Float32Array(10), {}, /expected room for 1296 values .* got 10/],
  ["a side of 0", new Float32Array(10), { width: 0 }, /expected a tensor with sides from 1/],
  ["a std of 0", new Float32Array(1296), { std: [1, 0, 1] }, /other than 0 in std/],
  ["a region outside the frame", new Float32Array(1296), { region: { x: 2, y: 0, width: 1, height: 1 } }, /region/],
  ["a target of another type", new Float64Array(1296) as unknown as Float32Array, {}, /Float32Array or a Uint8Array/],
] as const)
  test(`rejects ${behaviour} and passes the frame on`, NO_HANG, async () => {
    let rejected = false;
    await withFrame(async (frame) => {
      await assert.rejects(frame.tensor(target, { ...PLAIN, ...change }), message);
      rejected = true;
    });
    assert.ok(rejected);
  });

test("rejects a frame that is neither I420 nor NV12 with a remedy", NO_HANG, async () => {
  await withFrame(
    async (frame) =>
      assert.rejects(frame.tensor(new Float32Array(1296), PLAIN), /expected raw video in I420 or NV12, got RGB: put/),
    "RGB",
  );
  await play({
    ...pictures(1),
    encoder: ["jpegenc"],
    look: [
      sink((frame) =>
        assert.rejects(frame.tensor(new Float32Array(1296), PLAIN), /expected raw video: put `decode` before/),
      ),
    ],
  });
});
