/** Films whose pictures are numbered, so that order and times can be checked wherever they are seen. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import type { Frame } from "../../elements/element.ts";
import { drawTimeCode, readTimeCode } from "../../tools/bench/media/time-code.ts";

export const [WIDTH, HEIGHT] = [160, 96];
export const STEP_MS = 40;

export interface Coding {
  readonly bFrames: number;
  readonly gop: "open" | "closed";
}

/** Key pictures every second, where a group of B-frames would stand: an open GOP then has B-frames across it. */
export const keyEvery = ({ bFrames }: Coding): number => 24 - (24 % (bFrames + 1)) + (bFrames === 4 ? 5 : 0);

/** An MP4 file of so many pictures, numbered from 0. */
export function makeCounted(folder: string, coding: Coding, frames: number): string {
  const file = join(folder, `${coding.bFrames}-${coding.gop}.mp4`);
  const raw = Buffer.concat(Array.from({ length: frames }, (_, number) => drawCounted(number)));
  const key = keyEvery(coding);
  const x264 = `b-adapt=0:scenecut=0:keyint=${key}:min-keyint=${key}:open-gop=${coding.gop === "open" ? 1 : 0}:threads=1`;
  execFileSync(
    "ffmpeg",
    [
      ...["-v", "error", "-y", "-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", `${WIDTH}x${HEIGHT}`],
      ...["-r", String(1000 / STEP_MS), "-i", "-", "-c:v", "libx264", "-preset", "veryfast", "-crf", "18"],
      ...["-bf", String(coding.bFrames), "-x264-params", x264, file],
    ],
    { input: raw },
  );
  return file;
}

function drawCounted(number: number): Buffer {
  const picture = Buffer.alloc((WIDTH * HEIGHT * 3) / 2, 128);
  // Something that moves, so that motion is worth predicting.
  for (let y = HEIGHT / 4; y < HEIGHT; y++)
    for (let x = 0; x < WIDTH; x++) picture[y * WIDTH + x] = 60 + ((x + 3 * number + y) % 100);
  drawTimeCode(picture, WIDTH, HEIGHT, number);
  return picture;
}

/** Null where the picture is damaged. */
export function readNumber({ planes, format }: Frame): number | null {
  const [plane = assert.fail("no plane")] = planes;
  const { width, height } = format;
  const luma = new Uint8Array(width * height);
  for (let y = 0; y < height; y++) luma.set(plane.data.subarray(y * plane.stride, y * plane.stride + width), y * width);
  return readTimeCode({ data: luma, width, height, step: 1 });
}

export interface Numbered {
  readonly number: number | null;
  readonly ptsMs: number;
}

/** The pictures of a file in the order in which they are shown. */
export function readCounted(file: string): Numbered[] {
  const raw = execFileSync("ffmpeg", ["-v", "error", "-i", file, ...DECODED], { maxBuffer: 2 ** 28 });
  const list = "-v error -select_streams v -show_entries packet=pts_time -of csv=p=0".split(" ");
  const pts = execFileSync("ffprobe", [...list, file], { encoding: "utf8" })
    .trim()
    .split("\n")
    .map(Number);
  pts.sort((a, b) => a - b);
  const bytes = WIDTH * HEIGHT;
  assert.equal(raw.length, pts.length * bytes, `${file}: not every packet is a picture`);
  return pts.map((seconds, i) => {
    const data = raw.subarray(i * bytes, (i + 1) * bytes);
    return { number: readTimeCode({ data, width: WIDTH, height: HEIGHT, step: 1 }), ptsMs: seconds * 1000 };
  });
}

const DECODED = "-fps_mode passthrough -f rawvideo -pix_fmt gray -".split(" ");
