/**
 * Camera motion from the picture, in a process of its own, on the pictures of `peers/motion.cc`: `motion.ts WIDTH HEIGHT`.
 * Every picture is compared with the one before it and has its corners found anew. Prints milliseconds of processor time
 * per picture, and how often a motion was found.
 */
import { PictureMotion } from "../../../vision/picture-motion.ts";
import { median } from "../engine.ts";

const SQUARE = 48;
const MARGIN = 256;
/** Right and down, and back again. */
const PLACES = [0, 1, 2, 3, 2, 1];
const BATCHES = 41;
/** Turns of all places. */
const TURNS_A_BATCH = 10;
const WARM_UP = 10;

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
for (let batch = -WARM_UP; batch < BATCHES; batch++) {
  const started = process.cpuUsage();
  for (let turn = 0; turn < TURNS_A_BATCH; turn++)
    for (const frame of frames) if (motion.next(frame, []) !== null) found += 1;
  const { user, system } = process.cpuUsage(started);
  if (batch >= 0) times.push((user + system) / 1000 / TURNS_A_BATCH / frames.length);
}
const share = found / ((BATCHES + WARM_UP) * TURNS_A_BATCH * frames.length);
process.stdout.write(JSON.stringify({ ms: median(times), found: share }));
