/**
 * Numbered pictures with B-frames over every input protocol: order, PTS and capture times after the decoder, in the
 * processed recording and in the recording of the hub. `npm run soak -- b-frames` tests 0 to 5 B-frames with open and
 * closed GOPs and prints a table.
 */
import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { Frame } from "../../elements/element.ts";
import { ForkedHub } from "../../hub/hub.fixture.ts";
import { drawTimeCode, readTimeCode } from "../../tools/bench/media/time-code.ts";
import { startCamera } from "../camera.fixture.ts";
import { collector, compiledText, start } from "../graph.fixture.ts";
import { rounds } from "./rounds.fixture.ts";

const [WIDTH, HEIGHT] = [160, 96];
const STEP_MS = 40;

interface Coding {
  readonly codec?: "h265";
  readonly bFrames: number;
  readonly gop: "open" | "closed";
}

/** Keyframe distance of about a second, at a multiple of the B-frame group: in an open GOP, B-frames cross it. */
const keyEvery = ({ bFrames }: Coding): number => 24 - (24 % (bFrames + 1)) + (bFrames === 4 ? 5 : 0);

/** Creates an MP4 file with pictures numbered from 0. */
function makeCounted(folder: string, coding: Coding, frames: number): string {
  const file = join(folder, `${coding.codec}-${coding.bFrames}-${coding.gop}.mp4`);
  const raw = Buffer.concat(Array.from({ length: frames }, (_, number) => drawCounted(number)));
  const key = keyEvery(coding);
  const common = `b-adapt=0:scenecut=0:keyint=${key}:min-keyint=${key}:open-gop=${coding.gop === "open" ? 1 : 0}`;
  const coder =
    coding.codec === "h265"
      ? [
          "libx265",
          "-preset",
          "ultrafast",
          "-tag:v",
          "hvc1",
          "-x265-params",
          `${common}:pools=1:frame-threads=1:log-level=error`,
        ]
      : ["libx264", "-preset", "veryfast", "-x264-params", `${common}:threads=1`];
  execFileSync(
    "ffmpeg",
    [
      ...["-v", "error", "-y", "-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", `${WIDTH}x${HEIGHT}`],
      ...["-r", String(1000 / STEP_MS), "-i", "-", "-c:v", ...coder],
      ...["-crf", "18", "-bf", String(coding.bFrames), file],
    ],
    { input: raw },
  );
  return file;
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

interface Numbered {
  readonly number: number | null;
  readonly ptsMs: number;
}

/** The pictures of a file in presentation order. */
function readCounted(file: string): Numbered[] {
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

/** 30 seconds, of which only as much is published as the graph needs: a busy machine joins late. */
const FRAMES = 750;
const WANTED = 75;
const WAYS = ["RTMP to hub", "RTSP to hub", "RTSP camera"] as const;

interface Case extends Coding {
  readonly way: (typeof WAYS)[number];
}

const CODINGS: readonly Coding[] = [0, 1, 2, 3, 4, 5].flatMap((bFrames) =>
  (["closed", "open"] as const).map((gop) => ({ bFrames, gop })),
);
const ALL: readonly Case[] = [
  ...WAYS.flatMap((way) => CODINGS.map((coding) => ({ way, ...coding }))),
  // ffmpeg 5.1 does not write H.265 to RTMP.
  ...CODINGS.map((coding) => ({ way: "RTSP to hub", codec: "h265", ...coding }) as const),
];
const FEW: readonly Case[] = [
  { way: "RTMP to hub", bFrames: 3, gop: "closed" },
  { way: "RTSP to hub", bFrames: 5, gop: "open" },
  { way: "RTSP camera", bFrames: 3, gop: "open" },
  { way: "RTSP to hub", codec: "h265", bFrames: 3, gop: "open" },
];
const CONCURRENCY = 4;

interface Seen extends Numbered {
  readonly captureMs: number;
}

const folder = mkdtempSync(join(tmpdir(), "windhover-b-frames-"));
const hub = await ForkedHub.open({ decide: ({ path }) => ({ refusal: null, recording: path.replace("/", "-") }) });
const children: ChildProcess[] = [];
after(async () => {
  for (const child of children) child.kill("SIGKILL");
  await hub.remove();
  rmSync(folder, { recursive: true, force: true });
});

const clips = new Map<string, string>();
function clipOf(coding: Coding): string {
  const key = `${coding.codec} ${coding.bFrames} ${coding.gop}`;
  const clip = clips.get(key) ?? makeCounted(folder, coding, FRAMES);
  clips.set(key, clip);
  return clip;
}

/** Resolves with the URL to pull the stream from; `end` stops it and waits until the hub has recorded it. */
async function publish(
  clip: string,
  way: Case["way"],
  path: string,
): Promise<{ url: string; end: () => Promise<unknown> }> {
  if (way === "RTSP camera") {
    const camera = await startCamera({ file: clip });
    children.push(camera.process);
    return { url: camera.url, end: () => Promise.resolve() };
  }
  const target = way === "RTMP to hub" ? ["flv", await hub.rtmp(path)] : ["rtsp", await hub.rtsp(path)];
  const [format = "", url = ""] = target;
  const tcp = format === "rtsp" ? ["-rtsp_transport", "tcp"] : [];
  const words = ["-v", "error", "-nostdin", "-re", "-i", clip, "-c", "copy", "-f", format, ...tcp];
  const ffmpeg = spawn("ffmpeg", [...words, url.replace("//", "//any:key@")], { stdio: "ignore" });
  children.push(ffmpeg);
  await hub.next("published", ({ stream }) => stream.path === path);
  const end = () => {
    ffmpeg.kill();
    return hub.next("recorded", ({ recording }) => recording === path.replace("/", "-"));
  };
  return { url: (await hub.rtsp(path)).replace("//", "//any:key@"), end };
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

/** Plays until enough pictures were received. */
async function watch(url: string, name: string, file: string): Promise<Seen[]> {
  const seen: Seen[] = [];
  let stop = (): void => {};
  const enough = new Promise<void>((resolve) => {
    stop = resolve;
  });
  const element = {
    ...collector((frame) => {
      const [ptsMs, captureMs] = [Number(frame.ptsNs) / 1e6, Number(frame.captureNs) / 1e6];
      seen.push({ number: readNumber(frame), ptsMs, captureMs });
      if (seen.length === WANTED) stop();
    }),
    name,
  };
  const graph = await start(compiledText(graphOf(url, name, file), element), [element]);
  await Promise.race([enough, graph.ended]);
  assert.deepEqual(await graph.stop(), { state: "finished", error: null });
  return seen;
}

const steps = (values: readonly number[]): number[] => values.slice(1).map((value, i) => value - (values[i] as number));
const least = (values: readonly number[]): number => values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number;

/** A live graph drops pictures when the machine is busy, but at least these remain. */
const MIN_PICTURES = WANTED / 5;

/** Pictures are intact and in order; times increase with their numbers. Returns the milliseconds between pictures. */
function assertInOrder(
  what: string,
  pictures: readonly Numbered[],
  timesMs: readonly number[],
  toleranceMs = 1,
): number[] {
  const numbers = pictures.map(({ number }) => number ?? Number.NaN);
  const places = steps(numbers);
  assert.ok(
    pictures.length >= MIN_PICTURES && !(least(places) < 1) && !numbers.some(Number.isNaN),
    `${what}: ${numbers}`,
  );
  assert.ok(least(steps(timesMs)) > 0, `${what}: ${timesMs.map((ms) => ms.toFixed(1)).join(" ")}`);
  const stepsMs = steps(timesMs).map((ms, i) => ms / (places[i] as number));
  assert.ok(
    Math.abs(median(stepsMs) - STEP_MS) <= toleranceMs,
    `${what}: ${stepsMs.map((ms) => ms.toFixed(1)).join(" ")} ms apart`,
  );
  return stepsMs;
}

const ptsOf = (pictures: readonly Numbered[]): number[] => pictures.map(({ ptsMs }) => ptsMs);

async function check(one: Case, index: number): Promise<string> {
  const path = `counted/${index}`;
  const file = join(folder, `processed-${index}.mp4`);
  const { url, end } = await publish(clipOf(one), one.way, path);
  const seen = await watch(url, `collect-${index}`, file);
  const first = seen[0]?.number ?? assert.fail(`the first picture is damaged or missing (${seen.length} received)`);
  assert.equal(first % keyEvery(one), 0, `the first picture is ${first}, which is not a keyframe`);
  const pts = assertInOrder("PTS", seen, ptsOf(seen));
  const captured = assertInOrder(
    "capture times",
    seen,
    seen.map(({ captureMs }) => captureMs),
    // Capture times run at half speed for a moment when the sender's clock turns out to be earlier than the arrival.
    STEP_MS / 2,
  );
  const processed = readCounted(file);
  assertInOrder("processed recording", processed, ptsOf(processed));
  const columns = [
    one.way.padEnd(11),
    one.codec ?? "h264",
    one.bFrames,
    one.gop.padEnd(6),
    count(seen),
    range(pts),
    range(captured),
  ];
  if (one.way === "RTSP camera") return row([...columns, count(processed), "-"]);
  await end();
  const recorded = readCounted(join(hub.folder, "recordings", `counted-${index}`, "0.mp4"));
  assertInOrder("recording of the hub", recorded, ptsOf(recorded));
  // Publishing was stopped at any point: B-frames before the last picture may be missing.
  const whole = recorded.slice(0, -one.bFrames - 1);
  assert.equal(whole.length, (whole.at(-1)?.number ?? 0) + 1, "the hub dropped pictures");
  return row([...columns, count(processed), count(recorded)]);
}

const count = (pictures: readonly Numbered[]): string =>
  `${pictures.length}, ${pictures[0]?.number} to ${pictures.at(-1)?.number}`;
const range = (values: readonly number[]): string =>
  [least(values), median(values), -least(values.map((value) => -value))].map((ms) => ms.toFixed(1)).join(" ");
const row = (columns: readonly (string | number)[]): string => `| ${columns.join(" | ")} |`;

const cases = rounds(0, 1) === 1 ? ALL : FEW;
const HEAD = [
  "Milliseconds from one picture to the next: least, median, most. Those from before a player came follow at 1 ms.",
  row(["input", "codec", "B-frames", "GOP", "decoded", "PTS ms", "capture ms", "processed recording", "hub recording"]),
  row(Array.from({ length: 9 }, () => "---")),
];

test("pictures with B-frames keep order and times over every input protocol", { timeout: 900_000 }, async () => {
  const table: string[] = [];
  for (let at = 0; at < cases.length; at += CONCURRENCY) {
    const group = cases.slice(at, at + CONCURRENCY);
    const rows = await Promise.all(
      group.map((one, i) =>
        check(one, at + i).catch((error: unknown) => {
          throw new Error(`${one.way}, ${one.codec ?? "h264"}, ${one.bFrames} B-frames, ${one.gop} GOP: ${error}`, {
            cause: error,
          });
        }),
      ),
    );
    table.push(...rows);
  }
  console.log([...HEAD, ...table].join("\n"));
});
