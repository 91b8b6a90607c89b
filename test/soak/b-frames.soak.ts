/**
 * Numbered pictures with B-frames over every input protocol: order, PTS and capture times after the decoder, in the
 * processed recording and in the recording of the hub. `npm run soak -- b-frames` tests 0 to 5 B-frames with open and
 * closed GOPs and prints a table; elements/source/hub-streams.test.ts tests one of these.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { ForkedHub } from "../../hub/hub.fixture.ts";
import { startCamera } from "../camera.fixture.ts";
import {
  assertInOrder,
  assertSeen,
  type Coding,
  least,
  makeCounted,
  median,
  type Numbered,
  ptsOf,
  readCounted,
  watchCounted,
} from "./counted.fixture.ts";
import { rounds } from "./rounds.fixture.ts";

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

const folder = mkdtempSync(join(tmpdir(), "windhover-b-frames-"));
const hub = await ForkedHub.open({ decide: ({ path }) => ({ refusal: null, recording: path.replace("/", "-") }) });
const children: ChildProcess[] = [];
after(async () => {
  for (const child of children) child.kill("SIGKILL");
  await hub.remove();
  rmSync(folder, { recursive: true, force: true });
});

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

/** A live graph drops pictures when the machine is busy, but at least these remain. */
const MIN_PICTURES = WANTED / 5;

async function check(one: Case, index: number): Promise<string> {
  const path = `counted/${index}`;
  const file = join(folder, `processed-${index}.mp4`);
  const { url, end } = await publish(makeCounted(one), one.way, path);
  const seen = await watchCounted(url, `collect-${index}`, file, WANTED);
  const { pts, captured } = assertSeen(seen, one, MIN_PICTURES);
  const processed = readCounted(file);
  assertInOrder("processed recording", processed, ptsOf(processed), { fewest: MIN_PICTURES });
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
  assertInOrder("recording of the hub", recorded, ptsOf(recorded), { fewest: MIN_PICTURES });
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
