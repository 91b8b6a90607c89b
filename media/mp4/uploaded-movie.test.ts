import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { after, describe, test } from "node:test";
import { keepFileSync } from "../../test/kept-files.fixture.ts";
import { MediaError } from "../access-unit.ts";
import { type ClipFile, cutMovie } from "./clip.ts";
import { countWithGstreamer, hashFiles, probePackets } from "./decode.fixture.ts";
import { NotCuttable, readUploadedMovie } from "./uploaded-movie.ts";

const FPS = 25;
const folder = mkdtempSync(join(tmpdir(), "windhover-upload-"));
after(() => rmSync(folder, { recursive: true, force: true }));

/** Eight seconds with a keyframe each second, as ffmpeg writes it. */
function encode(name: string, options: readonly string[], codec: readonly string[] = ["-c:v", "libx264"]): string {
  const sound = options.includes("-c:a")
    ? ["-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000:duration=8"]
    : [];
  const input = ["-f", "lavfi", "-i", `testsrc2=size=320x180:rate=${FPS}:duration=8`, ...sound];
  const gop = ["-g", "25", "-keyint_min", "25", "-sc_threshold", "0", "-threads", "1"];
  const video = [...codec, "-preset", "ultrafast", "-pix_fmt", "yuv420p", ...gop];
  const words = ["-v", "error", "-y", ...input, ...video, ...options];
  const kept = keepFileSync([...words, extname(name).slice(1)], (fresh) => execFileSync("ffmpeg", [...words, fresh]));
  const path = join(folder, name);
  copyFileSync(kept, path);
  return path;
}

function openFile(path: string, bytes = readFileSync(path)): ClipFile {
  return { startedAtMs: 0, bytes: bytes.length, read: async (at, count) => bytes.subarray(at, at + count) };
}

async function cut(path: string, from: number, to: number): Promise<{ path: string; fromMs: number; toMs: number }> {
  const file = openFile(path);
  const clip = cutMovie(file, await readUploadedMovie(file), { fromMs: from, toMs: to }) ?? assert.fail("no frames");
  const pieces = await Promise.all(clip.pieces.map(({ at, bytes }) => file.read(at, bytes)));
  const whole = Buffer.concat([clip.head, ...pieces]);
  assert.equal(whole.length, clip.bytes);
  assert.deepEqual(clip.gaps, []);
  const target = join(folder, `clip-${cuts++}.mp4`);
  writeFileSync(target, whole);
  return { path: target, fromMs: clip.fromMs, toMs: clip.toMs };
}

let cuts = 0;

/** Of frames, with the first and without the last. */
const RANGES = [
  [0, 10],
  [3, 27],
  [49, 51],
  [62, 160],
  [75, 101],
  [190, 200],
] as const;

for (const [name, file, options] of [
  ["pictures in order", "plain.mp4", ["-bf", "0"]],
  ["three B-frames", "reordered.mp4", ["-bf", "3"]],
  ["three B-frames and sound, in QuickTime", "sound.mov", ["-bf", "3", "-c:a", "aac", "-ac", "2"]],
  [
    "an index at the front and a low timescale",
    "fast.mp4",
    ["-bf", "3", "-movflags", "+faststart", "-video_track_timescale", "25"],
  ],
  ["negative offsets", "negative.mp4", ["-bf", "3", "-movflags", "+negative_cts_offsets"]],
] as const)
  describe(`a clip of an uploaded file with ${name}`, () => {
    const path = encode(file, options);

    test("shows the frames of a range, and no other, and ends with the file where more was asked for", async () => {
      // Where the first frame is on the time line of the file: not every writer begins at 0.
      const zeroMs = Math.min(
        ...probePackets(path)
          .filter(({ codec_type }) => codec_type === "video")
          .map(({ pts_time }) => Number(pts_time) * 1000),
      );
      const at = (frame: number): number => Math.max(0, zeroMs) + (frame * 1000) / FPS;
      const paths: string[] = [];
      for (const [first, end] of RANGES) {
        const { path: clip, fromMs, toMs } = await cut(path, at(first) + 0.5, at(end) - 0.5);
        paths.push(clip);
        if (end - first > 30) assert.equal(countWithGstreamer(clip, 320, 180), end - first);
        assert.ok(Math.abs(fromMs - at(first)) < 1 && Math.abs(toMs - at(end)) < 1, `${fromMs} to ${toMs}`);
      }
      const { path: last } = await cut(path, at(180), 3_600_000);
      const [all = [], lastHashes, ...hashes] = hashFiles([path, last, ...paths]);
      assert.deepEqual(lastHashes, all.slice(180));
      for (const [i, range] of RANGES.entries()) assert.deepEqual(hashes[i], all.slice(...range), `frames ${range}`);
    });
  });

test("keeps the sound beside the picture", async () => {
  const { path } = await cut(join(folder, "sound.mov"), 2000, 4000);
  const sounds = probePackets(path).filter(({ codec_type }) => codec_type === "audio");
  const [first, last] = [sounds[0], sounds.at(-1)].map((packet) => Number(packet?.pts_time));
  assert.ok(Math.abs(first ?? 9) < 0.05, `${first}`);
  assert.ok(Math.abs((last ?? 0) - 2) < 0.1, `${last}`);
});

for (const [name, file, options, codec] of [
  ["MPEG-4 part 2", "old.mp4", [], ["-c:v", "mpeg4"]],
  ["fragments of another program", "fragments.mp4", ["-movflags", "+frag_keyframe+empty_moov"], ["-c:v", "libx264"]],
] as const)
  test(`says that ${name} cannot be cut`, async () => {
    await assert.rejects(readUploadedMovie(openFile(encode(file, options, codec))), NotCuttable);
  });

test("rejects a damaged index without reading outside of the file", async () => {
  const bytes = readFileSync(join(folder, "plain.mp4"));
  const truncated = bytes.subarray(0, bytes.length - 100);
  await assert.rejects(readUploadedMovie(openFile("", truncated)), MediaError);
  const stco = bytes.indexOf("stco", 0, "latin1");
  const far = Buffer.from(bytes);
  far.writeUInt32BE(0xfffffff0, stco + 12);
  await assert.rejects(readUploadedMovie(openFile("", far)), MediaError);
  // Any byte of the index may be wrong: it ends with a result or an error of its own, in time.
  const moov = bytes.indexOf("moov", 0, "latin1");
  for (let at = moov; at < bytes.length; at += 97) {
    const odd = Buffer.from(bytes);
    odd.writeUInt8((odd[at] ?? 0) ^ 0xff, at);
    const file = openFile("", odd);
    await readUploadedMovie(file).then(
      (movie) => void cutMovie(file, movie, { fromMs: 1000, toMs: 2000 }),
      (error: unknown) => assert.ok(error instanceof MediaError || error instanceof NotCuttable, String(error)),
    );
  }
});
