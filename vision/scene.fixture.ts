import type { CameraMotion } from "../schemas/camera-motion.ts";
import type { LumaPlane } from "./grey.ts";

/** A synthetic endless scene: luma at every point, smooth and without repetition. */
function lumaAt(x: number, y: number): number {
  const wave = (fx: number, fy: number, phase: number): number => Math.sin(x * fx + y * fy + phase);
  const coarse = wave(0.031, 0.017, 0) + wave(-0.019, 0.037, 1) + wave(0.043, -0.029, 2);
  const fine = wave(0.11, 0.07, 3) * wave(-0.09, 0.13, 4) + wave(0.17, -0.05, 5) * wave(0.04, 0.19, 6);
  return 128 + 22 * coarse + 28 * fine;
}

/** The scene after the camera has made this motion. */
export function renderScene(width: number, height: number, { a, b, right, down }: CameraMotion): LumaPlane {
  const stride = width + 16;
  const data = new Uint8Array(stride * height);
  const square = a * a + b * b;
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const fromX = (a * (x - right) + b * (y - down)) / square;
      const fromY = (a * (y - down) - b * (x - right)) / square;
      data[y * stride + x] = Math.min(Math.max(lumaAt(fromX, fromY), 0), 255);
    }
  return { data, stride, width, height };
}

/** Paints a striped grey object in front of the scene. */
export function paintObject(
  { data, stride }: LumaPlane,
  [left, top, width, height]: readonly [number, number, number, number],
): void {
  for (let y = top; y < top + height; y++)
    for (let x = left; x < left + width; x++)
      data[y * stride + x] = ((x - left) * 7 + (y - top) * 3) % 40 < 20 ? 60 : 180;
}

/** The scene after a pan of up to `furthest` pixels; rendered once, so that each call is cheap. */
export function openPan(width: number, height: number, furthest: number): (right: number) => LumaPlane {
  const wide = renderScene(width + 2 * furthest, height, { a: 1, b: 0, right: furthest, down: 0 });
  return (right) => ({ data: wide.data.slice(furthest - right), stride: wide.stride, width, height });
}
