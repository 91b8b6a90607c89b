/**
 * A synthetic street clip: a stop sign, a clock, and two cars that pass each other, one partly occluding the other.
 * Raw video, so that the result does not depend on an encoder.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { closeSync, copyFileSync, openSync, rmSync, symlinkSync, writeSync } from "node:fs";
import { join } from "node:path";
import { compiledLaunch, repeatClip, start } from "../graph.fixture.ts";
import { keepFile, keepFileSync } from "../kept-files.fixture.ts";
import { box, drawCar, drawClock, drawStopSign, Picture } from "./picture.fixture.ts";

export const STREET = { width: 640, height: 360, fps: 25, frames: 100 } as const;

/** Static telemetry for the street: ten metres above Munich, facing north, pitched down. */
export const CAMERA = {
  ...{ latitude: 48.1372, longitude: 11.5755, altitude: 529, rel_altitude: 10, speed: 0 },
  ...{ sensor_hfov: 60, sensor_vfov: 36, camera_pitch: -30, camera_yaw: 0, camera_roll: 0 },
};

type Paint = (still: Picture, frame: number) => Picture;

/** Raw video is large: longer clips, which are those of soak tests, are painted each time. */
const MOST_KEPT = 150;

/** Writes the clip as YUV4MPEG2, 4:2:0. Other cars than those of the street with a `paint` of your own. Do not change the file. */
export function paintStreet(file: string, frames: number = STREET.frames, paint: Paint = paintFrame): void {
  const write = (path: string): void => writeStreet(path, frames, paint);
  rmSync(file, { force: true });
  if (frames > MOST_KEPT) write(file);
  else symlinkSync(keepFileSync([...describeStreet(frames, paint), "y4m"], write), file);
}

/** What a kept clip depends on: some of its pictures stand for the code that paints them. */
function describeStreet(frames: number, paint: Paint): readonly string[] {
  const still = paintStill();
  const digest = createHash("sha256");
  for (const frame of [0, Math.floor(frames / 3), Math.floor(frames / 2), frames - 1])
    digest.update(paint(still, frame).rgb);
  return ["street", JSON.stringify(STREET), String(frames), digest.digest("hex")];
}

function writeStreet(file: string, frames: number, paint: Paint): void {
  const { width, height, fps } = STREET;
  const still = paintStill();
  const planes = new Uint8Array((width * height * 3) / 2);
  let before: Picture | null = null;
  const output = openSync(file, "w");
  try {
    writeSync(output, `YUV4MPEG2 W${width} H${height} F${fps}:1 Ip A1:1 C420jpeg\n`);
    for (let frame = 0; frame < frames; frame++) {
      writeSync(output, "FRAME\n");
      const picture = paint(still, frame);
      updatePlanes(planes, picture, before);
      writeSync(output, planes);
      before = picture;
    }
  } finally {
    closeSync(output);
  }
}

/** The street as an H.264 clip, which is repeated without encoding it again. */
export async function encodeStreet(folder: string, frames: number, times = 1): Promise<string> {
  const [raw, clip] = [join(folder, "street.y4m"), join(folder, "street.mp4")];
  const encode = "encode bitrate-kbps=8000";
  const kept = await keepFile([...describeStreet(frames, paintFrame), encode, "mp4"], async (path) => {
    writeStreet(raw, frames, paintFrame);
    const line = `source uri="${raw}" ! decode ! ${encode} ! record path="${path}"`;
    const graph = await start(compiledLaunch(line), []);
    assert.deepEqual(await graph.ended, { state: "finished", error: null });
    rmSync(raw);
  });
  copyFileSync(kept, clip);
  return times === 1 ? clip : repeatClip(clip, times);
}

export function paintFrame(still: Picture, frame: number): Picture {
  const picture = still.copy();
  drawCar(picture, -80 + frame * 8, 276, 160, [176, 34, 36]);
  drawCar(picture, 760 - frame * 9, 342, 200, [40, 84, 156], -1);
  return picture;
}

/** The static background. */
export function paintStill(): Picture {
  const { width, height } = STREET;
  const picture = new Picture(width, height);
  picture.fill(box(0, 0, width, height), [120, 150, 190]);
  picture.fill(box(0, 40, width, 190), [150, 128, 110]);
  for (let window = 0; window < 9; window++) {
    picture.fill(box(20 + window * 72, 100, 36, 60), [70, 80, 92]);
    picture.fill(box(22 + window * 72, 102, 15, 56), [96, 108, 122]);
  }
  picture.fill(box(0, 215, width, 30), [150, 148, 142]);
  picture.fill(box(0, 245, width, 115), [82, 84, 86]);
  for (let mark = 0; mark < 6; mark++) picture.fill(box(20 + mark * 110, 300, 60, 5), [210, 208, 200]);
  addGrain(picture);
  drawClock(picture, 200, 80, 34);
  drawStopSign(picture, 520, 90, 36);
  return picture;
}

/** Noise, as in photographs of walls and roads. */
function addGrain({ rgb }: Picture): void {
  let state = 1;
  for (let pixel = 0; pixel < rgb.length; pixel += 3) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const grain = ((state >>> 24) % 17) - 8;
    for (let at = pixel; at < pixel + 3; at++) rgb[at] = Math.min(255, Math.max(0, (rgb[at] ?? 0) + grain));
  }
}

/**
 * BT.601, limited range, the default for this size. Chroma is the mean of four pixels. `planes` are those of `before`: only
 * pairs of rows that differ from it are converted.
 */
function updatePlanes(planes: Uint8Array, { width, height, rgb }: Picture, before: Picture | null): void {
  const size = width * height;
  const weigh = (at: number, red: number, green: number, blue: number): number =>
    (red * (rgb[at] as number) + green * (rgb[at + 1] as number) + blue * (rgb[at + 2] as number)) / 255;
  const rowsOf = (picture: Uint8Array, y: number): Uint8Array => picture.subarray(y * width * 3, (y + 2) * width * 3);
  for (let y = 0; y < height; y += 2) {
    if (before !== null && Buffer.compare(rowsOf(rgb, y), rowsOf(before.rgb, y)) === 0) continue;
    for (let pixel = y * width; pixel < (y + 2) * width; pixel++)
      planes[pixel] = Math.round(16 + weigh(pixel * 3, 65.481, 128.553, 24.966));
    for (const [plane, red, green, blue] of [
      [0, -37.797, -74.203, 112],
      [1, 112, -93.786, -18.214],
    ] as const) {
      let next = size + (plane * size) / 4 + (y * width) / 4;
      for (let at = y * width * 3; at < (y + 1) * width * 3; at += 6) {
        const below = at + width * 3;
        const upper = weigh(at, red, green, blue) + weigh(at + 3, red, green, blue);
        const sum = upper + weigh(below, red, green, blue) + weigh(below + 3, red, green, blue);
        planes[next++] = Math.round(128 + sum / 4);
      }
    }
  }
}
