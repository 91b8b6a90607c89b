/** The recipes, the clips that their tests name, and runs of them. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import jpeg from "jpeg-js";
import type { AlertEvent } from "../schemas/alerts.ts";
import type { DetectionMessage } from "../schemas/detection-message.ts";
import { testClip } from "./clips.fixture.ts";
import { runLine } from "./docs/command-lines.ts";
import { ROOT } from "./docs/pages.ts";
import { drawCar, Picture } from "./golden/picture.fixture.ts";
import { CAMERA, paintStreet, STREET } from "./golden/street.fixture.ts";
import { compiledLaunch, start } from "./graph.fixture.ts";

const RECIPES = join(ROOT, "graphs/recipes");
export const RECIPE_NAMES = readdirSync(RECIPES).flatMap((file) => (file.endsWith(".yaml") ? [file.slice(0, -5)] : []));
/** Of the tests, relative to the recipes. */
export const GOLDENS = join(RECIPES, "golden");
export const readRecipe = (name: string): string => readFileSync(join(RECIPES, `${name}.yaml`), "utf8");

/** Clips that are made of `vtest.avi`, with the steps after `decode`. They are not encoded: golden files need the same frames. */
const DERIVED = {
  "dark.y4m": "gamma gamma=0.4 ! videobalance contrast=0.05 saturation=0.3",
  "from-above.y4m":
    "videoscale ! video/x-raw,width=360,height=270 ! videobox fill=black left=-460 right=-460 top=-225 bottom=-225",
} as const;
const NEEDS_VTEST = ["vtest.avi", ...Object.keys(DERIVED)];

/** Whether the clips of a recipe are `vtest.avi` or made of it. */
export const needsVtest = (name: string): boolean => NEEDS_VTEST.some((clip) => readRecipe(name).includes(clip));

/**
 * Writes all clips that the tests of recipes name; without `vtest.avi` those that do not need it.
 * @param frames of clips that are made of `vtest.avi`
 */
export async function writeClips(folder: string, frames = 15): Promise<void> {
  const at = (name: string): string => join(folder, name);
  paintStreet(at("street.y4m"));
  writeTelemetry(at("street.ndjson"), STREET.frames);
  paintStreet(at("car-park.y4m"), 90, paintCarPark);
  paintStreet(at("convoy.y4m"), CONVOY.frames, (still, frame) =>
    paintConvoy(still, frame, Math.max(0, frame - 60) * 8),
  );
  writeTelemetry(at("convoy.ndjson"), CONVOY.frames, CONVOY.speed);
  const vtest = testClip("vtest.avi");
  if (vtest === null) return;
  if (!existsSync(at("vtest.avi"))) symlinkSync(vtest, at("vtest.avi"));
  for (const [name, steps] of Object.entries(DERIVED)) await derive(vtest, frames, steps, at(name));
}

async function derive(clip: string, frames: number, steps: string, path: string): Promise<void> {
  const line = `source uri="${clip}" ! decode ! identity eos-after=${frames + 1} ! ${steps} ! videoconvert ! video/x-raw,format=I420 ! y4menc ! filesink location="${path}"`;
  const graph = await start(compiledLaunch(line), []);
  assert.deepEqual(await graph.ended, { state: "finished", error: null });
}

/** A parked car, and one that passes it every four seconds. */
export function paintCarPark(still: Picture, frame: number): Picture {
  const picture = still.copy();
  drawCar(picture, 150, 276, 160, [176, 34, 36]);
  drawCar(picture, 760 - (frame % 100) * 9, 342, 200, [40, 84, 156], -1);
  return picture;
}

/** `speed` is that of the camera in metres per second. */
export const CONVOY = { frames: 110, pixelsPerFrame: 8, speed: 5.1 } as const;

/** Three cars beside a camera that moves with them to the east; the last one is `behind` its place, in pixels. */
export function paintConvoy(still: Picture, frame: number, behind: number): Picture {
  const picture = scroll(still, frame * CONVOY.pixelsPerFrame);
  drawCar(picture, 540, 300, 150, [176, 34, 36]);
  drawCar(picture, 350, 300, 150, [40, 84, 156]);
  drawCar(picture, 160 - behind, 300, 150, [200, 200, 196]);
  return picture;
}

/** The picture moved to the left; what leaves it comes in on the right. */
function scroll({ width, height, rgb }: Picture, pixels: number): Picture {
  const moved = new Picture(width, height);
  const left = (pixels % width) * 3;
  for (let row = 0; row < rgb.length; row += width * 3) {
    moved.rgb.set(rgb.subarray(row + left, row + width * 3), row);
    moved.rgb.set(rgb.subarray(row, row + left), row + width * 3 - left);
  }
  return moved;
}

/** Five samples per second, and a second more than the clip, of a camera that moves to the east in metres per second. */
export function writeTelemetry(file: string, frames: number, speed = 0): void {
  const degreeM = 111_320 * Math.cos((CAMERA.latitude * Math.PI) / 180);
  const samples = Array.from({ length: (frames / STREET.fps) * 5 + 6 }, (_, i) => {
    const timestamp = i / 5;
    return { timestamp, ...CAMERA, speed, longitude: CAMERA.longitude + (speed * timestamp) / degreeM };
  });
  writeFileSync(file, samples.map((sample) => `${JSON.stringify(sample)}\n`).join(""));
}

export interface RecipeRun {
  readonly messages: readonly DetectionMessage[];
  readonly events: readonly AlertEvent[];
}

/** `windhover run WORDS` */
export async function runRecipe(words: string): Promise<RecipeRun> {
  const { code, out, err } = await runLine(`npx windhover run ${words}`);
  assert.equal(code, 0, err);
  const lines = out.split("\n");
  return {
    messages: lines.filter((line) => line.includes('"active_tracks"')).map((line) => JSON.parse(line)),
    events: lines.filter((line) => line.includes('"alert"')).map((line) => JSON.parse(line)),
  };
}

/** Time of a message in the clip. */
export const secondsOf = ({ timestamp }: DetectionMessage): number => Date.parse(timestamp) / 1000;

/** Frames and size of a video file. */
export async function probeVideo(file: string): Promise<{ frames: number; width: number; height: number }> {
  const { code, out, err } = await runLine(`npx windhover launch 'source uri="${file}" ! decode ! print'`);
  assert.equal(code, 0, err);
  const lines = out.trim().split("\n");
  const { width, height } = JSON.parse(lines[0] ?? "");
  return { frames: lines.length, width, height };
}

export interface Pixels {
  readonly width: number;
  readonly height: number;
  /** Four bytes per pixel. */
  readonly data: Uint8Array;
}

export const openPicture = (file: string): Pixels => jpeg.decode(readFileSync(file), { useTArray: true });

/** Mean difference of the green of neighbours in a row of a box, in pixels. */
export function detailOf({ width, data }: Pixels, [left, top, w, h]: readonly number[]): number {
  const green = (x: number, y: number): number => data[(Math.round(y) * width + Math.round(x)) * 4 + 1] ?? 0;
  const [x = 0, y = 0, columns = 0, rows = 0] = [left, top, w, h];
  let sum = 0;
  for (let row = 0; row < Math.floor(rows); row++)
    for (let column = 0; column < Math.floor(columns); column++)
      sum += Math.abs(green(x + column, y + row) - green(x + column + 1, y + row));
  return sum / (Math.floor(rows) * Math.floor(columns));
}
