import assert from "node:assert/strict";
import { test } from "node:test";
import type { LumaPlane } from "./grey.ts";
import { countChanged, PictureChange } from "./picture-change.ts";
import { openPan } from "./scene.fixture.ts";

const [WIDTH, HEIGHT] = [1280, 720];
const pan = openPan(WIDTH, HEIGHT, 64);
const scene = pan(0);

/** Reproducible random numbers from 0 to 1. */
function draw(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

const NOISE = Float32Array.from({ length: 1 << 16 }, draw(7));

/** Changes every pixel: noise of this deviation from a table that starts elsewhere in every frame, then a gain. */
function film(plane: LumaPlane, frame: number, { deviation = 0, gain = 1, offset = 0 }): LumaPlane {
  const from = Math.floor(draw(frame + 1)() * NOISE.length);
  const span = deviation * Math.sqrt(12);
  const data = new Uint8Array(plane.data.length);
  for (let i = 0; i < data.length; i++) {
    const noise = (NOISE[(i * 31 + from) & (NOISE.length - 1)] as number) - 0.5;
    data[i] = (plane.data[i] as number) * gain + offset + noise * span + 0.5;
  }
  return { ...plane, data };
}

/** A dark square of 4 × 4 pixels. */
function putObject(plane: LumaPlane, left: number, top: number): LumaPlane {
  const data = plane.data.slice();
  for (let y = top; y < top + 4; y++) data.fill(20, y * plane.stride + left, y * plane.stride + left + 4);
  return { ...plane, data };
}

const GREY: LumaPlane = {
  data: new Uint8Array(WIDTH * HEIGHT).fill(120),
  stride: WIDTH,
  width: WIDTH,
  height: HEIGHT,
};

const WHOLE = { x: 0, y: 0, width: 1, height: 1 };

function count(change: PictureChange, plane: LumaPlane, region = WHOLE): number {
  const found = change.next(plane).change;
  return found === null ? -1 : countChanged(found, region);
}

/** Compares with the first of these frames; the numbers of changed squares. */
function watch(frames: number, render: (frame: number) => LumaPlane): { change: PictureChange; counts: number[] } {
  const change = new PictureChange();
  change.refer(change.next(render(0)).picture);
  return { change, counts: Array.from({ length: frames }, (_, frame) => count(change, render(frame + 1))) };
}

test("a still image has no changes, whatever its noise", () => {
  for (const deviation of [0, 2, 6]) {
    const { counts } = watch(10, (frame) => film(scene, frame, { deviation }));
    assert.deepEqual(new Set(counts), new Set([0]), `deviation ${deviation}`);
  }
});

test("a ramp of brightness is no change, of contrast neither", () => {
  const { counts } = watch(10, (frame) =>
    film(scene, frame, { deviation: 2, gain: 1 - frame / 50, offset: 2 * frame }),
  );
  assert.deepEqual(new Set(counts), new Set([0]));
});

test("an object of 4 × 4 pixels that moves by its size is a change, in noise and wherever it is", () => {
  const { change } = watch(20, (frame) => film(putObject(GREY, 300, 200), frame, { deviation: 2 }));
  for (let shift = 4; shift < 12; shift++) {
    const moved = film(putObject(GREY, 300 + shift, 200 + (shift % 3)), 40 + shift, { deviation: 2 });
    const squares = count(change, moved);
    assert.ok(squares >= 1 && squares <= 8, `${squares} squares after ${shift} pixels`);
  }
});

test("changes are counted in a region of the frame", () => {
  const { change } = watch(1, () => GREY);
  const changed = putObject(GREY, 642, 362);
  assert.equal(count(change, changed), 1);
  assert.equal(count(change, changed, { x: 0.5, y: 0.5, width: 0.1, height: 0.1 }), 1);
  assert.equal(count(change, changed, { x: 0, y: 0, width: 0.5, height: 1 }), 0);
  assert.equal(count(change, changed, { x: 0.51, y: 0.5, width: 0.49, height: 0.5 }), 0);
});

test("an object that creeps is a change in the end", () => {
  const { counts } = watch(20, (frame) => film(putObject(scene, 300 + Math.floor(frame / 3), 200), frame, {}));
  assert.ok(counts.slice(0, 2).every((squares) => squares === 0));
  assert.ok((counts.at(-1) ?? 0) > 0);
});

test("a camera that pans changes most of the image, and leaves no noise behind", () => {
  const { change, counts } = watch(20, (frame) => pan(2 * frame));
  assert.ok((counts.at(-1) ?? 0) > 0.5 * 160 * 90, `${counts.at(-1)} squares`);
  change.refer(change.next(scene).picture);
  assert.equal(count(change, scene), 0);
  assert.ok(count(change, putObject(scene, 301, 201)) > 0);
});

test("what always moves is noise after a while, and no further than an object is visible", () => {
  const leaves = (frame: number): LumaPlane => {
    const data = GREY.data.slice();
    const value = 120 + 12 * Math.sin(frame * 2.1);
    for (let y = 80; y < 120; y++) data.fill(value, y * WIDTH + 80, y * WIDTH + 120);
    return { ...GREY, data };
  };
  const { change, counts } = watch(150, leaves);
  assert.ok((counts[0] ?? 0) > 0);
  assert.deepEqual(new Set(counts.slice(-20)), new Set([0]));
  const data = GREY.data.slice();
  for (let y = 80; y < 120; y++) data.fill(20, y * WIDTH + 80, y * WIDTH + 120);
  assert.ok(count(change, { ...GREY, data }) >= 25);
});

test("there is no change without a reference, or for another shape of the image", () => {
  const change = new PictureChange();
  const { picture, change: none } = change.next(scene);
  assert.equal(none, null);
  change.refer(picture);
  assert.equal(count(change, scene), 0);
  assert.equal(change.next({ ...scene, height: HEIGHT / 2 }).change, null);
  change.forget();
  assert.equal(change.next(scene).change, null);
});

test("portrait and tiny images have squares as well", () => {
  for (const [width, height, columns, rows] of [
    [720, 1280, 90, 160],
    [3840, 2160, 160, 90],
    [16, 8, 16, 8],
  ] as const) {
    const data = new Uint8Array(width * height);
    const { picture } = new PictureChange().next({ data, stride: width, width, height });
    assert.deepEqual([picture.width, picture.height], [columns, rows]);
  }
});
