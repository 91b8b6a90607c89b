/** Numbered pictures with B-frames: made, published in real time, and read where they arrive. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import type { Frame } from "../../elements/element.ts";
import { drawTimeCode, readTimeCode } from "../../tools/bench/media/time-code.ts";
import { collector, compiledText, start } from "../graph.fixture.ts";
import { keepFileSync } from "../kept-files.fixture.ts";

const [WIDTH, HEIGHT] = [160, 96];
const STEP_MS = 40;

export interface Coding {
  readonly codec?: "h265";
  readonly bFrames: number;
  readonly gop: "open" | "closed";
}

/** Keyframe distance of about a second, at a multiple of the B-frame group: in an open GOP, B-frames cross it. */
export const keyEvery = ({ bFrames }: Coding): number => 24 - (24 % (bFrames + 1)) + (bFrames === 4 ? 5 : 0);

/** 30 seconds, of which only as much is published as is needed: a busy machine joins late. */
const FRAMES = 750;

/** An MP4 file with pictures numbered from 0. */
export function makeCounted(coding: Coding): string {
  const common = `b-adapt=0:scenecut=0:keyint=${keyEvery(coding)}:min-keyint=${keyEvery(coding)}:open-gop=${coding.gop === "open" ? 1 : 0}`;
  const coder =
    coding.codec === "h265"
      ? [
          ...["libx265", "-preset", "ultrafast", "-tag:v", "hvc1"],
          // The preset looks ahead at five pictures, and refuses as many B-frames.
          ...["-x265-params", `${common}:rc-lookahead=10:pools=1:frame-threads=1:log-level=error`],
        ]
      : ["libx264", "-preset", "veryfast", "-x264-params", `${common}:threads=1`];
  const words = [
    ...["-v", "error", "-y", "-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", `${WIDTH}x${HEIGHT}`],
    ...["-r", String(1000 / STEP_MS), "-i", "-", "-c:v", ...coder],
    ...["-crf", "18", "-bf", String(coding.bFrames)],
  ];
  return keepFileSync(["counted", String(FRAMES), ...words, "mp4"], (path) => {
    const raw = Buffer.concat(Array.from({ length: FRAMES }, (_, number) => drawCounted(number)));
    execFileSync("ffmpeg", [...words, path], { input: raw });
  });
}

function drawCounted(number: number): Buffer {
  const picture = Buffer.alloc((WIDTH * HEIGHT * 3) / 2, 128);
  // Motion, so that the encoder uses prediction.
  for (let y = HEIGHT / 4; y < HEIGHT; y++)
    for (let x = 0; x < WIDTH; x++) picture[y * WIDTH + x] = 60 + ((x + 3 * number + y) % 100);
  drawTimeCode(picture, WIDTH, HEIGHT, number);
  return picture;
}

/** Null for a damaged picture. */
function readNumber({ planes, format }: Frame): number | null {
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

/** The pictures of a file in presentation order. */
export function readCounted(file: string): Numbered[] {
  const raw = execFileSync("ffmpeg", ["-v", "error", "-i", file, ...DECODED], { maxBuffer: 2 ** 28 });
  const list = "-v error -select_streams v -show_entries packet=pts_time -of csv=p=0".split(" ");
  const pts = execFileSync("ffprobe", [...list, file], { encoding: "utf8" })
    .trim()
    .split("\n")
    .map(Number);
  pts.sort((a, b) => a - b);
  const bytes = WIDTH * HEIGHT;
  assert.equal(raw.length, pts.length * bytes, `${file}: packets and pictures differ in number`);
  return pts.map((seconds, i) => {
    const data = raw.subarray(i * bytes, (i + 1) * bytes);
    return { number: readTimeCode({ data, width: WIDTH, height: HEIGHT, step: 1 }), ptsMs: seconds * 1000 };
  });
}

const DECODED = "-fps_mode passthrough -f rawvideo -pix_fmt gray -".split(" ");

export interface Seen extends Numbered {
  readonly captureMs: number;
}

const graphOf = (url: string, collect: string, file: string) => `
graph: counted
chains:
  main:
    - source: { uri: "${url}" }
    - decode
    - tee: { name: frames }
  seen:
    chain: [{ from: frames }, ${collect}]
  file:
    chain: [{ from: frames }, stage, encode, { record: { path: "${file}" } }]
`;

/** Plays and records until this many pictures were received. */
export async function watchCounted(url: string, name: string, file: string, wanted: number): Promise<Seen[]> {
  const seen: Seen[] = [];
  let stop = (): void => {};
  const enough = new Promise<void>((resolve) => {
    stop = resolve;
  });
  const element = {
    ...collector((frame) => {
      const [ptsMs, captureMs] = [Number(frame.ptsNs) / 1e6, Number(frame.captureNs) / 1e6];
      seen.push({ number: readNumber(frame), ptsMs, captureMs });
      if (seen.length === wanted) stop();
    }),
    name,
  };
  const graph = await start(compiledText(graphOf(url, name, file), element), [element]);
  await Promise.race([enough, graph.ended]);
  assert.deepEqual(await graph.stop(), { state: "finished", error: null });
  return seen;
}

const steps = (values: readonly number[]): number[] => values.slice(1).map((value, i) => value - (values[i] as number));
export const least = (values: readonly number[]): number =>
  values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number;

/** Pictures are intact and in order; times increase with their numbers. Returns the milliseconds between pictures. */
export function assertInOrder(
  what: string,
  pictures: readonly Numbered[],
  timesMs: readonly number[],
  { fewest, toleranceMs = 1 }: { readonly fewest: number; readonly toleranceMs?: number },
): number[] {
  const numbers = pictures.map(({ number }) => number ?? Number.NaN);
  const places = steps(numbers);
  assert.ok(pictures.length >= fewest && !(least(places) < 1) && !numbers.some(Number.isNaN), `${what}: ${numbers}`);
  assert.ok(least(steps(timesMs)) > 0, `${what}: ${timesMs.map((ms) => ms.toFixed(1)).join(" ")}`);
  const stepsMs = steps(timesMs).map((ms, i) => ms / (places[i] as number));
  assert.ok(
    Math.abs(median(stepsMs) - STEP_MS) <= toleranceMs,
    `${what}: ${stepsMs.map((ms) => ms.toFixed(1)).join(" ")} ms apart`,
  );
  return stepsMs;
}

export const ptsOf = (pictures: readonly Numbered[]): number[] => pictures.map(({ ptsMs }) => ptsMs);

/** What a live graph has decoded: from a keyframe on, and in order by both of its times. Returns the milliseconds between pictures. */
export function assertSeen(seen: readonly Seen[], coding: Coding, fewest: number) {
  const first = seen[0]?.number ?? assert.fail(`the first picture is damaged or missing (${seen.length} received)`);
  assert.equal(first % keyEvery(coding), 0, `the first picture is ${first}, which is not a keyframe`);
  const pts = assertInOrder("PTS", seen, ptsOf(seen), { fewest });
  const captureMs = seen.map((picture) => picture.captureMs);
  // Capture times run at half speed for a moment when the sender's clock turns out to be earlier than the arrival.
  const captured = assertInOrder("capture times", seen, captureMs, { fewest, toleranceMs: STEP_MS / 2 });
  return { pts, captured };
}
