import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { NO_HANG, pictures, play, sink } from "./pipeline.fixture.ts";

const caps = (pixels: string, size = "width=640,height=480") =>
  `video/x-raw,format=${pixels},${size},framerate=30/1,colorimetry=${pixels === "RGBA" ? "sRGB" : "bt709"}`;
/** SMPTE bars, seven of them in the upper two thirds: grey, yellow, cyan, green, magenta, red, blue at three quarters. */
const BARS = [
  [180, 180, 180],
  [180, 180, 16],
  [16, 180, 180],
  [16, 180, 16],
  [180, 16, 180],
  [180, 16, 16],
  [16, 16, 180],
];

interface Decoded {
  readonly width: number;
  readonly height: number;
  readonly middle: readonly number[];
}

async function decode(picture: Uint8Array, decoder: string): Promise<Decoded> {
  const folder = await mkdtemp(join(tmpdir(), "windhover-part-"));
  try {
    await writeFile(join(folder, "picture"), picture);
    let found: Decoded | null = null;
    const look = sink((frame) => {
      const [plane] = frame.planes;
      const { width, height } = frame.format;
      const at = Math.floor(height / 2) * (plane?.stride ?? 0) + Math.floor(width / 2) * 3;
      found = { width, height, middle: [...(plane?.data.slice(at, at + 3) ?? [])] };
    });
    await play({
      file: ["filesrc", { location: join(folder, "picture") }],
      decoder: [decoder],
      convert: ["videoconvert"],
      pixels: ["capsfilter", { caps: "video/x-raw,format=RGB" }],
      look: [look],
    });
    return found ?? assert.fail("nothing was decoded");
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function take(
  pixels: string,
  part: object,
  type: "image/png" | "image/jpeg" = "image/jpeg",
): Promise<Uint8Array> {
  let picture: Uint8Array | null = null;
  const cut = sink(async (frame) => {
    picture = await frame.image(type, part);
  });
  await play({ ...pictures(1, caps(pixels), { pattern: "smpte75" }), cut: [cut] });
  return picture ?? assert.fail("no frame came");
}

for (const pixels of ["I420", "NV12", "RGBA"])
  test(`crops a part of a frame in ${pixels} with its colours`, NO_HANG, async () => {
    for (const [bar, colour] of [2, 5].map((bar) => [bar, BARS[bar] ?? []] as const)) {
      const region = { x: (bar + 0.1) / 7, y: 0.1, width: 0.8 / 7, height: 0.2 };
      const found = await decode(await take(pixels, { region }), "jpegdec");
      const [left, right] = [Math.round(region.x * 640), Math.round((region.x + region.width) * 640)];
      assert.deepEqual([found.width, found.height], [right - left, 96]);
      found.middle.forEach((value, i) => {
        assert.ok(Math.abs(value - (colour[i] ?? 0)) <= 24, `bar ${bar}: ${found.middle} instead of ${colour}`);
      });
    }
  });

test("shrinks a part with its aspect to the limit of pixels, and never enlarges it", NO_HANG, async () => {
  const sizes: (readonly [number, number])[] = [];
  for (const part of [
    { mostPixels: 160 },
    { region: { x: 0.5, y: 0, width: 0.25, height: 1 }, mostPixels: 100 },
    { region: { x: 0, y: 0, width: 0.1, height: 0.1 }, mostPixels: 640 },
    { region: { x: 0.999_999_5, y: 0.999_999_5, width: 1e-6, height: 1e-6 }, mostPixels: 1 },
    { region: { x: 0.1, y: 0.2, width: 0.3, height: 0.800_000_000_1 } },
    {},
  ]) {
    const { width, height } = await decode(await take("I420", part, "image/png"), "pngdec");
    sizes.push([width, height]);
  }
  assert.deepEqual(sizes, [
    [160, 120],
    [33, 100],
    [64, 48],
    [1, 1],
    [192, 384],
    [640, 480],
  ]);
});

test("a part has the same bytes every time", NO_HANG, async () => {
  const region = { x: 0.2, y: 0.1, width: 87 / 640, height: 79 / 480 };
  const taken: Uint8Array[] = [];
  const cut = sink(async (frame) => {
    // Other parts in between leave data in memory.
    for (const x of [0.1, 0.5, 0.7]) await frame.image("image/jpeg", { region: { ...region, x } });
    taken.push(await frame.image("image/jpeg", { region }));
  });
  await play({ ...pictures(4, caps("I420"), { pattern: "smpte75" }), cut: [cut] });
  const [first, ...others] = taken.map((picture) => Buffer.from(picture).toString("hex"));
  assert.deepEqual([...new Set(others)], [first]);
});

test("a part as JPEG has the standard colours of JPEG", NO_HANG, async () => {
  const jpeg = Buffer.from(await take("I420", { region: { x: 0.1, y: 0.1, width: 87 / 640, height: 79 / 480 } }));
  assert.equal(jpeg.subarray(6, 10).toString(), "JFIF");
  assert.equal(jpeg.includes("Adobe"), false);
  const frame = jpeg.indexOf(Buffer.from([0xff, 0xc0]));
  const [components, ...rest] = jpeg.subarray(frame + 9);
  const sampling = [1, 4, 7].map((at) => rest[at]);
  assert.deepEqual([components, ...sampling], [3, 0x22, 0x11, 0x11]);
});

test("rejects an invalid part with the reason, and passes the frame on", NO_HANG, async () => {
  const region = { x: 0.1, y: 0.1, width: 0.2, height: 0.2 };
  let rejected = 0;
  const cut = sink(async (frame) => {
    for (const part of [
      { region: { ...region, x: Number.NaN } },
      { region: { ...region, width: Number.POSITIVE_INFINITY } },
      { region: { ...region, height: 0 } },
      { region: { ...region, width: -0.1 } },
      { region: { ...region, x: -0.1 } },
      { region: { ...region, y: 0.9 } },
      { region: {} },
    ]) {
      await assert.rejects(frame.image("image/jpeg", part), /expected a region within the frame.*got x/);
      rejected += 1;
    }
    for (const mostPixels of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, 1e9]) {
      await assert.rejects(
        frame.image("image/jpeg", { region, mostPixels }),
        /expected mostPixels from 1 to 16384, got/,
      );
      rejected += 1;
    }
    await frame.image("image/jpeg", { region });
  });
  await play({ ...pictures(2), cut: [cut] });
  assert.equal(rejected, 24);
});
