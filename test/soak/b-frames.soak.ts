/**
 * Numbered pictures with B-frames on every way in: order, PTS and capture times behind the decoder, in the processed
 * recording and in the recording of the hub. `npm run soak -- b-frames` tries 0 to 5 B-frames with open and closed groups
 * of pictures, and prints a table.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { ForkedHub } from "../../hub/hub.fixture.ts";
import { collector, compiledText, start } from "../graph.fixture.ts";
import {
  type Coding,
  keyEvery,
  makeCounted,
  type Numbered,
  readCounted,
  readNumber,
  STEP_MS,
} from "./counted.fixture.ts";
import { rounds } from "./rounds.fixture.ts";

/** Half a minute, of which as much is published as the graph needs to see enough: a busy machine joins late. */
const FRAMES = 750;
const WANTED = 75;
const CAMERA = fileURLToPath(new URL("../../build/camera", import.meta.url));
const WAYS = ["RTMP to hub", "RTSP to hub", "RTSP camera"] as const;

interface Case extends Coding {
  readonly way: (typeof WAYS)[number];
}

const ALL: readonly Case[] = WAYS.flatMap((way) =>
  [0, 1, 2, 3, 4, 5].flatMap((bFrames) => (["closed", "open"] as const).map((gop) => ({ way, bFrames, gop }))),
);
const FEW: readonly Case[] = [
  { way: "RTMP to hub", bFrames: 3, gop: "closed" },
  { way: "RTSP to hub", bFrames: 5, gop: "open" },
  { way: "RTSP camera", bFrames: 3, gop: "open" },
];
const AT_ONCE = 3;

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
  const key = `${coding.bFrames} ${coding.gop}`;
  const clip = clips.get(key) ?? makeCounted(folder, coding, FRAMES);
  clips.set(key, clip);
  return clip;
}

/** Where to pull the stream from; `end` stops it and waits until the hub has recorded it. */
async function publish(
  clip: string,
  way: Case["way"],
  path: string,
): Promise<{ url: string; end: () => Promise<unknown> }> {
  if (way === "RTSP camera") {
    const camera = spawn(CAMERA, ["--file", clip], { stdio: ["ignore", "pipe", "inherit"] });
    children.push(camera);
    const [line] = (await once(camera.stdout, "data")) as [Buffer];
    return { url: (JSON.parse(line.toString()) as { url: string }).url, end: () => Promise.resolve() };
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

/** Plays until it has seen enough. */
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

/** A live graph leaves pictures out when the machine is busy, but never so many. */
const FEWEST = WANTED / 5;

/** Pictures are whole and in order; times rise as their numbers do. Returns the milliseconds from one to the next. */
function assertInOrder(
  what: string,
  pictures: readonly Numbered[],
  timesMs: readonly number[],
  toleranceMs = 1,
): number[] {
  const numbers = pictures.map(({ number }) => number ?? Number.NaN);
  const places = steps(numbers);
  assert.ok(pictures.length >= FEWEST && !(least(places) < 1) && !numbers.some(Number.isNaN), `${what}: ${numbers}`);
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
  const first = seen[0]?.number ?? assert.fail(`the first picture is damaged, or there is none (${seen.length} came)`);
  assert.equal(first % keyEvery(one), 0, `it begins with picture ${first}, which is not a key picture`);
  const pts = assertInOrder("PTS", seen, ptsOf(seen));
  const captured = assertInOrder(
    "capture times",
    seen,
    seen.map(({ captureMs }) => captureMs),
    // They go at half speed for a moment where the sender turns out to have been earlier than the arrival said.
    STEP_MS / 2,
  );
  const processed = readCounted(file);
  assertInOrder("processed recording", processed, ptsOf(processed));
  const columns = [one.way.padEnd(11), one.bFrames, one.gop.padEnd(6), count(seen), range(pts), range(captured)];
  if (one.way === "RTSP camera") return row([...columns, count(processed), "-"]);
  await end();
  const recorded = readCounted(join(hub.folder, "recordings", `counted-${index}`, "0.mp4"));
  assertInOrder("recording of the hub", recorded, ptsOf(recorded));
  // It was stopped anywhere: B-frames before the last picture may not have been sent.
  const whole = recorded.slice(0, -one.bFrames - 1);
  assert.equal(whole.length, (whole.at(-1)?.number ?? 0) + 1, "the hub left pictures out");
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
  row(["way", "B-frames", "GOP", "decoded", "PTS ms", "capture ms", "processed recording", "hub recording"]),
  row(Array.from({ length: 8 }, () => "---")),
];

test("pictures with B-frames keep order and times on every way in", { timeout: 900_000 }, async () => {
  const table: string[] = [];
  for (let at = 0; at < cases.length; at += AT_ONCE) {
    const group = cases.slice(at, at + AT_ONCE);
    const rows = await Promise.all(
      group.map((one, i) =>
        check(one, at + i).catch((error: unknown) => {
          throw new Error(`${one.way}, ${one.bFrames} B-frames, ${one.gop} GOP: ${error}`, { cause: error });
        }),
      ),
    );
    table.push(...rows);
  }
  console.log([...HEAD, ...table].join("\n"));
});
