/**
 * Camera motion estimation, run in its own process on the same images as `peers/motion.cc`: `motion.ts WIDTH HEIGHT`.
 * Compares every image with the one before, with new corners each time. Prints the median CPU time per image in ms, and
 * how often a motion was found.
 */
import { PictureMotion } from "../../../vision/picture-motion.ts";
import { median } from "../harness.ts";

const SQUARE = 48;
const MARGIN = 256;
/** Right and down, and back again. */
const PLACES = [0, 1, 2, 3, 2, 1];
const TURNS = 400;
const WARM_UP = 100;

const [width = 0, height = 0] = process.argv.slice(2).map(Number);
const stride = width + MARGIN;
const columns = Math.ceil(stride / SQUARE);
let seed = 1;
const squares = Uint8Array.from({ length: columns * Math.ceil((height + MARGIN) / SQUARE) }, () => {
  seed = (seed * 48_271) % 2_147_483_647;
  return 40 + (seed % 170);
});
const scene = new Uint8Array(stride * (height + MARGIN));
for (let at = 0; at < scene.length; at++) {
  const row = Math.floor(at / stride / SQUARE);
  scene[at] = squares[row * columns + Math.floor((at % stride) / SQUARE)] as number;
}
const frames = PLACES.map((place) => ({
  ...{ width, height, stride },
  data: scene.subarray((8 + 5 * place) * stride + 8 + 12 * place),
}));

const motion = new PictureMotion();
let found = 0;
const times: number[] = [];
for (let turn = -WARM_UP; turn < TURNS; turn++) {
  const before = process.cpuUsage();
  const results = frames.map((frame) => motion.next(frame, []));
  const { user, system } = process.cpuUsage(before);
  if (turn < 0) continue;
  times.push((user + system) / 1000 / frames.length);
  found += results.filter((result) => result !== null).length / frames.length;
}
process.stdout.write(JSON.stringify({ ms: median(times), found: found / times.length }));
