/** The expansions on real GStreamer, without the addon: run by `gst-launch-1.0`. */
import assert from "node:assert/strict";
import { type ChildProcess, execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import decode from "./decode/decode.ts";
import type { AnyElement, ExpandedNode } from "./element.ts";
import encode from "./encode/encode.ts";
import record from "./record/record.ts";
import { makeContext, makeFactory } from "./registry.fixture.ts";
import resize from "./resize/resize.ts";
import source from "./source/source.ts";
import stage from "./stage/stage.ts";

const CONTEXT = makeContext([makeFactory("x264enc"), makeFactory("x265enc")]);
const CAMERA = { latencyMs: 200, transport: "tcp", connectMs: 5000, stallMs: 3000, giveUpSeconds: 300 };
const ENCODE = { bitrateKbps: 500, resolution: null, keyframeSeconds: 1, preset: "ultrafast", hardware: "never" };
const LIMITS = { timeout: 60_000, maxBuffer: 64 * 1024 * 1024 };

const folder = await mkdtemp(join(tmpdir(), "chains-"));
after(() => rm(folder, { recursive: true }));

/** One element as words of a launch line. */
function write(element: AnyElement, properties: object): string {
  assert.equal(element.kind, "composite");
  return element.expand(properties, CONTEXT).nodes.map(writeNode).join("\n!\n");
}

function writeNode({ factory, properties }: ExpandedNode): string {
  // Part of the addon; it changes no frame.
  if (factory === "keyframes") return "identity";
  return [factory, ...Object.entries(properties).map(([name, value]) => `${name}=${value}`)].join("\n");
}

const from = (uri: string, pace?: "realtime"): string => write(source, { ...CAMERA, uri, ...(pace && { pace }) });
const decoded = (): string => write(decode, { frames: "all", hardware: "auto" });
const toWords = (steps: readonly string[]): readonly string[] => steps.join("\n!\n").split("\n");

async function launch(...steps: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)("gst-launch-1.0", ["-v", ...toWords(steps)], LIMITS);
  return stdout;
}

/**
 * Runs a chain to its end; returns its last caps and the number of frames. From the messages of `identity`: the lines that
 * gst-launch 1.22 prints for caps of pads are sometimes missing when several threads set caps at once (1 run of 80).
 */
async function watch(...steps: readonly string[]): Promise<{ caps: string; size: string; frames: number }> {
  const output = await launch(...steps, "identity\nname=watch\nsilent=false", "fakesink\nsync=false");
  const [, escaped = ""] = [...output.matchAll(/\(type: caps [^"]*"([^"]*)"/g)].at(-1) ?? [];
  const caps = escaped.replaceAll("\\", "");
  const size = ["width", "height"].map((name) => new RegExp(`${name}=\\(int\\)(\\d+)`).exec(caps)?.[1]).join("x");
  return { caps, size, frames: output.match(/chain {3}\*/g)?.length ?? 0 };
}

for (const [given, to, expected] of [
  ["1920x1080", "720p", "1280x720"],
  ["1080x1920", "720p", "404x720"],
  ["641x361", "720p", "640x360"],
  ["1921x1081", "720p", "1278x720"],
  ["640x360", "720p", "640x360"],
  ["641x361", null, "641x361"],
] as const) {
  test(`resizes ${given} to ${to} as ${expected}`, async () => {
    const [width, height] = given.split("x");
    const { size } = await watch(from(`test:?width=${width}&height=${height}&frames=2`), write(resize, { to }));
    assert.equal(size, expected);
  });
}

test("resizes a frame with non-square pixels to its display aspect", async () => {
  const wide = "capsfilter\ncaps=video/x-raw,width=1440,height=1080,pixel-aspect-ratio=4/3";
  const { size } = await watch("videotestsrc\nnum-buffers=2", wide, write(resize, { to: "720p" }));
  assert.equal(size, "1280x720");
});

for (const [index, [what, extension, encoder]] of (
  [
    ["H.264 with B-frames in MP4", "mp4", ["x264enc\nbframes=2", "h264parse", "mp4mux"]],
    ["H.264 in MPEG-TS", "ts", ["x264enc", "h264parse", "mpegtsmux"]],
    ["H.265 in MP4", "mp4", ["x265enc\nspeed-preset=ultrafast", "h265parse", "mp4mux"]],
    ["VP9 in MP4", "mp4", ["vp9enc\ndeadline=1", "vp9parse", "mp4mux"]],
    ["AV1 in MP4", "mp4", ["av1enc\ncpu-used=8\nusage-profile=realtime", "av1parse", "mp4mux"]],
    ["H.265 in Matroska", "mkv", ["x265enc\nspeed-preset=ultrafast", "h265parse", "matroskamux"]],
    ["MPEG-4 in AVI", "avi", ["avenc_mpeg4", "avimux"]],
    ["Motion JPEG in AVI", "avi", ["jpegenc", "avimux"]],
    ["VP8 in WebM", "webm", ["vp8enc\ndeadline=1", "webmmux"]],
    ["VP9 in WebM", "webm", ["vp9enc\ndeadline=1", "webmmux"]],
    ["raw video in AVI", "avi", ["avimux"]],
  ] as const
).entries()) {
  test(`decodes ${what} without losing a frame`, async () => {
    const path = join(folder, `${index}.${extension}`);
    await launch(from("test:ball?width=320&height=180&frames=30"), ...encoder, `filesink\nlocation=${path}`);
    const { caps, frames } = await watch(from(path), write(stage, { buffers: 8 }), decoded());
    assert.equal(frames, 30);
    assert.match(caps, /format=\(string\)(I420|NV12)/);
  });
}

test("decode passes a test pattern through unchanged", async () => {
  const { caps, frames } = await watch(
    from("test:snow?frames=20"),
    write(decode, { frames: "all", hardware: "never" }),
  );
  assert.equal(frames, 20);
  assert.match(caps, /I420/);
});

test("decode rotates a portrait video upright", async () => {
  const turned = "taginject\ntags=image-orientation=rotate-90";
  const { size } = await watch(from("test:?width=320&height=180&frames=3"), turned, decoded());
  assert.equal(size, "180x320");
});

for (const codec of ["h264", "h265"] as const) {
  test(`a recording in ${codec} holds every frame, also for odd frame sizes`, async () => {
    const path = join(folder, `record-${codec}.mp4`);
    const picture = from("test:ball?width=321&height=181&frames=40");
    await launch(picture, write(encode, { ...ENCODE, codec }), write(record, { path, codec }));
    const { size, frames } = await watch(from(path), decoded());
    assert.equal(size, "320x180");
    assert.equal(frames, 40);
  });
}

test("a recording that is killed plays up to the last fragment", async () => {
  const path = join(folder, "killed.mp4");
  const steps = [
    from("test:snow?width=320&height=180", "realtime"),
    write(encode, { ...ENCODE, codec: "h264" }),
    write(record, { path, codec: "h264" }),
  ];
  const recording = execFile("gst-launch-1.0", [...toWords(steps)], LIMITS);
  await waitForFragments(recording, path);
  recording.kill("SIGKILL");
  await once(recording, "exit");
  const { frames } = await watch(from(path), decoded());
  assert.ok(frames >= 25, `${frames} frames`);
});

/** Noise at 500 kbit/s: the first fragment is more than 20 kB, the header far less. */
async function waitForFragments(recording: ChildProcess, path: string): Promise<void> {
  while (recording.exitCode === null) {
    const size = await stat(path).then(
      (found) => found.size,
      () => 0,
    );
    if (size > 100_000) return;
    await sleep(50);
  }
  assert.fail(`the recording ended by itself with ${recording.exitCode}`);
}
