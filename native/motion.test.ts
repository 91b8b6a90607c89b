import assert from "node:assert/strict";
import test, { after } from "node:test";
import type { LumaPlane } from "../vision/grey.ts";
import { renderScene } from "../vision/scene.fixture.ts";
import { averageLuma, findCorners, followPoints, halveGrey, kernelSets, shrinkLuma, useKernelSet } from "./kernels.ts";

const [REFERENCE = "", ...OTHERS] = kernelSets();
const LEVELS = 3;
const FROM_REST = [LEVELS - 1, 0, 0] as const;

after(() => useKernelSet(OTHERS.at(-1) ?? REFERENCE));

const scenes = new Map<string, LumaPlane>();
/** Cached: rendering takes longer than everything else here. */
function render(width: number, height: number, right: number): LumaPlane {
  const key = `${width} ${height} ${right}`;
  const scene = scenes.get(key) ?? renderScene(width, height, { a: 1.002, b: 0.003, right, down: right / 3 });
  scenes.set(key, scene);
  return scene;
}

function buildPyramid(frameWidth: number, frameHeight: number, right: number, step: number) {
  const { data, stride } = render(frameWidth, frameHeight, right);
  let [width, height] = [Math.floor(frameWidth / step), Math.floor(frameHeight / step)];
  const pyramid = [new Float32Array(width * height)];
  shrinkLuma(data, stride, frameWidth, frameHeight, step, pyramid[0] as Float32Array);
  while (pyramid.length < LEVELS) {
    const half = new Float32Array((width >> 1) * (height >> 1));
    halveGrey(pyramid.at(-1) as Float32Array, width, height, half);
    pyramid.push(half);
    [width, height] = [width >> 1, height >> 1];
  }
  return pyramid;
}

/** All intermediate results, the corners of one image, and their positions in the next. */
function trace(frameWidth: number, frameHeight: number, step: number): readonly Float32Array[] {
  const [width, height] = [Math.floor(frameWidth / step), Math.floor(frameHeight / step)];
  const before = buildPyramid(frameWidth, frameHeight, 0, step);
  const now = buildPyramid(frameWidth, frameHeight, 2.5 * step, step);
  const corners = findCorners(before[0] as Float32Array, width, height, Float64Array.of(8, 8, 20, 20), 64);
  const found = followPoints(before, now, width, height, corners, ...FROM_REST);
  return [average(frameWidth, frameHeight, step), ...before, ...now, corners, found];
}

function average(frameWidth: number, frameHeight: number, side: number): Float32Array {
  const { data, stride } = render(frameWidth, frameHeight, 0);
  const means = new Float32Array(Math.floor(frameWidth / side) * Math.floor(frameHeight / side));
  averageLuma(data, stride, frameWidth, frameHeight, side, means);
  return means;
}

const SIZES = [
  [64, 48, 1],
  [131, 97, 1],
  [646, 362, 3],
  [1000, 562, 5],
  [390, 218, 6],
] as const;

for (const set of OTHERS)
  test(`kernel set "${set}" computes the same motion of ${SIZES.length} images, bit for bit`, () => {
    for (const [width, height, step] of SIZES) {
      useKernelSet(REFERENCE);
      const expected = trace(width, height, step);
      useKernelSet(set);
      assert.deepEqual(trace(width, height, step), expected, `${width} x ${height}, step ${step}`);
    }
  });

test("the mean of a square is that of all its pixels", () => {
  const [frameWidth, frameHeight, side] = [131, 97, 7];
  const { data, stride } = render(frameWidth, frameHeight, 0);
  const columns = Math.floor(frameWidth / side);
  for (const [at, mean] of average(frameWidth, frameHeight, side).entries()) {
    const [left, top] = [(at % columns) * side, Math.floor(at / columns) * side];
    const rows = Array.from({ length: side }, (_, y) => data.subarray((top + y) * stride + left).subarray(0, side));
    const sum = rows.flatMap((row) => [...row]).reduce((total, value) => total + value, 0);
    assert.ok(Math.abs(mean - sum / side ** 2) < 1e-4, `square ${at}: ${mean}`);
  }
});

test("the mean of the largest square does not overflow", () => {
  const white = new Uint8Array(256 * 256).fill(255);
  const mean = new Float32Array(1);
  averageLuma(white, 256, 256, 256, 256, mean);
  assert.equal(mean[0], 255);
});

test("corners avoid edges and excluded areas, and are found again after a shift", () => {
  const [width, height, step] = [1000, 562, 5];
  const [corners, found] = trace(width, height, step).slice(-2) as [Float32Array, Float32Array];
  assert.ok(corners.length >= 40, `${corners.length / 2} corners`);
  let near = 0;
  for (let i = 0; i < corners.length; i += 2) {
    const [x = 0, y = 0] = corners.subarray(i, i + 2);
    assert.ok(x >= 3 && y >= 3 && x <= width / step - 4 && y <= height / step - 4, `a corner at ${x}, ${y}`);
    assert.ok(x < 8 || y < 8 || x > 20 || y > 20, `a corner at ${x}, ${y} is in an excluded area`);
    const off = Math.hypot((found[i] as number) - x - 2.5, (found[i + 1] as number) - y - 2.5 / 3);
    if (off < 0.5) near++;
  }
  assert.ok(near >= corners.length * 0.4, `${near} of ${corners.length / 2} corners are where they went`);
});

for (const [what, call, expected] of [
  ["a plane that is too short", () => shrinkLuma(new Uint8Array(99), 10, 10, 10, 1, new Float32Array(100)), /rows/],
  ["no room for the small image", () => shrinkLuma(new Uint8Array(100), 10, 10, 10, 1, new Float32Array(99)), /room/],
  ["too large squares", () => averageLuma(new Uint8Array(66_049), 257, 257, 257, 257, new Float32Array(1)), /256/],
  ["no room for the means", () => averageLuma(new Uint8Array(100), 10, 10, 10, 2, new Float32Array(24)), /room/],
  ["a step of 0", () => shrinkLuma(new Uint8Array(100), 10, 10, 10, 0, new Float32Array(100)), /step/],
  ["a width below 0", () => halveGrey(new Float32Array(100), -10, 10, new Float32Array(25)), /width/],
  ["an image that is too short", () => findCorners(new Float32Array(99), 10, 10, new Float64Array(), 4), /rows/],
  [
    "an unknown level",
    () => followPoints([new Float32Array(100)], [new Float32Array(100)], 10, 10, new Float32Array(2), 1, 0, 0),
    /level/,
  ],
  [
    "a NaN point",
    () => followPoints([new Float32Array(1)], [new Float32Array(1)], 1, 1, Float32Array.of(Number.NaN, 0), 0, 0, 0),
    /finite/,
  ],
] as const)
  test(`rejects ${what}`, () => {
    assert.throws(call, (error) => error instanceof RangeError && expected.test(error.message));
  });
