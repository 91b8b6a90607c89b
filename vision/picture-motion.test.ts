import assert from "node:assert/strict";
import { test } from "node:test";
import type { CameraMotion } from "../schemas/camera-motion.ts";
import type { LumaPlane } from "./grey.ts";
import { PictureMotion } from "./picture-motion.ts";
import { openPan, paintObject, renderScene } from "./scene.fixture.ts";

const [WIDTH, HEIGHT] = [640, 360];
const STILL: CameraMotion = { a: 1, b: 0, right: 0, down: 0 };
const turn = (degrees: number, zoom: number, right: number, down: number): CameraMotion => {
  const angle = (degrees * Math.PI) / 180;
  return { a: zoom * Math.cos(angle), b: zoom * Math.sin(angle), right, down };
};

const still = renderScene(WIDTH, HEIGHT, STILL);
const renderStill = (): LumaPlane => ({ ...still, data: still.data.slice() });
const pan = openPan(WIDTH, HEIGHT, 0);

/** Largest error of the estimated motion at the corners of the frame, in pixels. */
function measureError(found: CameraMotion, made: CameraMotion): number {
  const errors = [0, WIDTH].flatMap((x) =>
    [0, HEIGHT].map((y) =>
      Math.hypot(
        (found.a - made.a) * x - (found.b - made.b) * y + found.right * HEIGHT - made.right,
        (found.b - made.b) * x + (found.a - made.a) * y + found.down * HEIGHT - made.down,
      ),
    ),
  );
  return Math.max(...errors);
}

for (const [behaviour, made] of [
  ["a pan", turn(0, 1, 11.5, -4.25)],
  ["a fast pan", turn(0, 1, -36, 12)],
  ["a turn", turn(1.5, 1, 3, -8)],
  ["a zoom in", turn(0, 1.03, -9, -5)],
  ["a zoom out with a turn", turn(-1, 0.97, 6, 9)],
] as const)
  test(`${behaviour} is estimated to a pixel at the corners`, () => {
    const picture = new PictureMotion();
    assert.equal(picture.next(renderStill(), []), null, "the first frame has no predecessor");
    const found = picture.next(renderScene(WIDTH, HEIGHT, made), []);
    assert.ok(found !== null);
    assert.ok(measureError(found, made) < 1, `${measureError(found, made)} pixels off`);
  });

test("a static camera gives no motion", () => {
  const picture = new PictureMotion();
  picture.next(renderStill(), []);
  const noisy = renderStill();
  noisy.data.forEach((value, i) => {
    noisy.data[i] = value + (i % 3) - 1;
  });
  assert.deepEqual(picture.next(noisy, []), STILL);
});

test("a camera that creeps, by less than noise a frame, is not taken for one that stands still", () => {
  const [width, height] = [320, 180];
  const picture = new PictureMotion();
  let down = 0;
  for (let i = 0; i <= 40; i++) {
    const motion = picture.next(renderScene(width, height, turn(0, 1, 0, i * 0.04)), []);
    down += (motion?.down ?? 0) * height;
  }
  assert.ok(Math.abs(down - 1.6) < 0.4, `${down} of 1.6 pixels found`);
});

test("a person walking in front of a static camera gives no motion", () => {
  const picture = new PictureMotion();
  for (let i = 0; i < 30; i++) {
    const plane = pan(0);
    const box = [20 + i * 18, 20, 90, 300] as const;
    paintObject(plane, box);
    const found = picture.next(plane, [box]);
    if (i > 0) assert.ok(found !== null && measureError(found, STILL) < 0.5);
  }
});

test("objects that fill a third of the frame do not bias the camera motion", () => {
  const made = turn(0, 1, 8, 0);
  const [before, after] = [renderStill(), renderScene(WIDTH, HEIGHT, made)];
  const from = [[60, 40, 150, 300] as const, [400, 60, 140, 260] as const];
  const to = from.map(([x, y, width, height]) => [x - 10, y + 4, width, height] as const);
  for (const box of from) paintObject(before, box);
  for (const box of to) paintObject(after, box);
  const picture = new PictureMotion();
  picture.next(before, from);
  const found = picture.next(after, to);
  assert.ok(found !== null && measureError(found, made) < 1);
});

test("a frame without corners or of another scene gives null", () => {
  const grey = { data: new Uint8Array(WIDTH * HEIGHT).fill(90), stride: WIDTH, width: WIDTH, height: HEIGHT };
  const picture = new PictureMotion();
  picture.next(grey, []);
  assert.equal(picture.next(grey, []), null);
  assert.equal(picture.next(renderStill(), []), null);
  assert.equal(picture.next(renderScene(WIDTH, HEIGHT, turn(90, 2.5, 4000, 9000)), []), null);
});

test("a change of the resolution starts over", () => {
  const picture = new PictureMotion();
  picture.next(renderStill(), []);
  assert.equal(picture.next(renderScene(WIDTH / 2, HEIGHT / 2, STILL), []), null);
  assert.deepEqual(picture.next(renderScene(WIDTH / 2, HEIGHT / 2, STILL), []), STILL);
});
