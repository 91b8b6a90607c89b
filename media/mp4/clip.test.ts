import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { type ClipOptions, makeClip, type Clip as Published } from "./clip.fixture.ts";
import { type ClipFile, cutClip, type TimeRange } from "./clip.ts";
import { countWithGstreamer, hashClip, hashFiles, hashPictures, probePackets } from "./decode.fixture.ts";
import { record } from "./recorded.fixture.ts";

const FPS = 25;
const GOP = 25;
/** When a frame was captured: with B-frames the first one is displayed later. */
const timesOf = ({ units }: Published) => {
  const firstMs = Math.min(...units.filter(({ kind }) => kind === "video").map(({ captureMs }) => captureMs));
  return (frame: number): number => firstMs + (frame * 1000) / FPS;
};

const folder = mkdtempSync(join(tmpdir(), "windhover-cut-"));
after(() => rmSync(folder, { recursive: true, force: true }));

/** `path`: the clip as a file. */
async function cut(files: readonly ClipFile[], range: TimeRange) {
  const clip = (await cutClip(files, range)) ?? assert.fail("nothing was found");
  const pieces = await Promise.all(clip.pieces.map(({ file, at, bytes }) => file.read(at, bytes)));
  const whole = Buffer.concat([clip.head, ...pieces]);
  assert.equal(whole.length, clip.bytes);
  const path = join(folder, `clip-${cuts++}.mp4`);
  writeFileSync(path, whole);
  return { ...clip, path };
}

let cuts = 0;

const KINDS: readonly (readonly [string, ClipOptions])[] = [
  ["pictures in order and sound", { hasAudio: true }],
  ["two B-frames", { bFrames: 2 }],
  ["four B-frames and sound", { bFrames: 4, hasAudio: true }],
  ["H.265 with open GOPs", { codec: "h265", bFrames: 4 }],
];

/** Of frames, with the first and without the last; some of a single one. */
const RANGES = [
  ...[
    [0, 10],
    [3, 27],
    [26, 49],
    [49, 51],
    [62, 160],
    [74, 76],
    [75, 101],
    [190, 200],
  ],
  ...[
    [0, 1],
    [25, 26],
    [60, 61],
  ],
] as const satisfies readonly (readonly [number, number])[];

for (const [name, options] of KINDS)
  describe(`a clip of ${name}`, () => {
    const published = makeClip({ seconds: 8, fps: FPS, gop: GOP, ...options });
    const files = record(published, 3);
    const at = timesOf(published);
    const all = hashClip(published);

    test("shows the frames of a range, and no other", async () => {
      const paths: string[] = [];
      for (const [first, end] of RANGES) {
        const { path, gaps, fromMs, toMs } = await cut(files, { fromMs: at(first), toMs: at(end) });
        paths.push(path);
        // Across files: another player agrees.
        if (end - first > 30) assert.equal(countWithGstreamer(path, 320, 180, options.codec), end - first);
        assert.deepEqual(gaps, []);
        assert.ok(Math.abs(fromMs - at(first)) < 1 && Math.abs(toMs - at(end)) < 1, `${fromMs} to ${toMs}`);
      }
      for (const [i, hashes] of hashFiles(paths).entries())
        assert.deepEqual(hashes, all.slice(...(RANGES[i] ?? assert.fail())), `frames ${RANGES[i]}`);
    });

    test("times between two frames: the first is the one on display", async () => {
      const { path, fromMs } = await cut(files, { fromMs: at(30) + 15, toMs: at(40) + 15 });
      assert.deepEqual(hashPictures(path), all.slice(30, 41));
      assert.ok(Math.abs(fromMs - at(30)) < 1);
    });
  });

test("sound begins and ends with the pictures", async () => {
  const published = makeClip({ seconds: 8, fps: FPS, gop: GOP, hasAudio: true });
  const at = timesOf(published);
  const { path } = await cut(record(published, 3), { fromMs: at(60), toMs: at(160) });
  const packets = probePackets(path).filter(({ codec_type }) => codec_type === "audio");
  const times = packets.map(({ pts_time }) => Number(pts_time));
  const shown = times.filter((time) => time >= 0);
  assert.ok(Math.abs(Math.min(...shown)) < 0.03, `${Math.min(...shown)}`);
  assert.ok(Math.abs(Math.max(...shown) + 1024 / 48_000 - 4) < 0.05, `${Math.max(...shown)}`);
});

test("a file that is missing is a gap, during which the last frame stays", async () => {
  const published = makeClip({ seconds: 9, fps: FPS, gop: GOP });
  const files = record(published, 3, [1]);
  const at = timesOf(published);
  const { path, gaps, fromMs, toMs } = await cut(files, { fromMs: at(50), toMs: at(200) });
  const all = hashClip(published);
  assert.deepEqual(hashPictures(path), [...all.slice(50, 75), ...all.slice(150, 200)]);
  const times = probePackets(path).map(({ pts_time }) => Number(pts_time));
  assert.ok(times.some((time) => Math.abs(time - 4) < 0.01) && !times.some((time) => time > 1.01 && time < 3.99));
  assert.deepEqual(
    gaps.map((gap) => [Math.round(gap.fromMs), Math.round(gap.toMs)]),
    [[at(75), at(150)]],
  );
  assert.ok(Math.abs(fromMs - at(50)) < 1 && Math.abs(toMs - at(200)) < 1);
});

test("a file that begins before the end of the one before, as a clock was set back, replaces its end", async () => {
  const published = makeClip({ seconds: 6, fps: FPS, gop: GOP, bFrames: 2 });
  const at = timesOf(published);
  const all = hashClip(published);
  const files = record(published, 3).map((file, i) => ({ ...file, startedAtMs: file.startedAtMs - i * 400 }));
  const { path, gaps } = await cut(files, { fromMs: at(50), toMs: at(90) });
  const times = probePackets(path)
    .filter(({ flags }) => !flags.includes("D"))
    .map(({ pts_time }) => Number(pts_time));
  const shown = times.toSorted((a, b) => a - b);
  for (const [i, time] of shown.entries()) if (i > 0) assert.ok(time - (shown[i - 1] ?? 0) > 0.03, `${i}: ${time}`);
  assert.deepEqual(gaps, []);
  const hashes = hashPictures(path);
  // The second file has the frames from 75 on, ten frames earlier than they were.
  assert.deepEqual(hashes.slice(-25), all.slice(75, 100));
  assert.deepEqual(hashes.slice(0, 10), all.slice(50, 60));
});

test("a gap of less than two seconds is listed, and a slow frame rate is not one", async () => {
  const published = makeClip({ seconds: 6, fps: FPS, gop: GOP });
  const at = timesOf(published);
  // Also of a range in which the gap is nearly all there is.
  for (const [from, to] of [
    [10, 140],
    [74, 101],
    [73, 102],
  ] as const) {
    const { gaps } = await cut(record(published, 1, [3]), { fromMs: at(from), toMs: at(to) });
    assert.deepEqual(
      gaps.map((gap) => [Math.round(gap.fromMs), Math.round(gap.toMs)]),
      [[at(75), at(100)]],
    );
  }
  const slow = makeClip({ seconds: 12, fps: 1, gop: 2 });
  const [firstMs = 0] = slow.units.map(({ captureMs }) => captureMs);
  assert.deepEqual((await cut(record(slow, 4), { fromMs: firstMs + 1000, toMs: firstMs + 10_000 })).gaps, []);
});

test("frames of irregular times with B-frames: the last one stays until the next, without a gap", async () => {
  const published = makeClip({ seconds: 4, fps: FPS, gop: GOP, bFrames: 3 });
  const moved = (us: number): number => us + (Math.round(us / 40_000) % 3) * 9_000;
  const units = published.units.map((unit) => ({
    ...unit,
    ptsUs: moved(unit.ptsUs),
    captureMs: moved(unit.ptsUs) / 1000,
  }));
  const files = record({ ...published, units }, 4);
  const times = units.map(({ captureMs }) => captureMs).sort((a, b) => a - b);
  const all = hashClip({ units });
  const ends = Array.from({ length: 20 }, (_, i) => 40 + i);
  const paths: string[] = [];
  for (const end of ends) {
    const fromMs = ((times[30] ?? 0) + (times[31] ?? 0)) / 2;
    const toMs = ((times[end - 1] ?? 0) + (times[end] ?? 0)) / 2;
    const { path, gaps } = await cut(files, { fromMs, toMs });
    assert.deepEqual(gaps, []);
    paths.push(path);
  }
  for (const [i, hashes] of hashFiles(paths).entries()) assert.deepEqual(hashes, all.slice(30, ends[i]));
});

test("what is missing at the ends is a gap; a range without any frame gives nothing", async () => {
  const published = makeClip({ seconds: 3, fps: FPS, gop: GOP });
  const files = record(published, 3);
  const at = timesOf(published);
  const { gaps, fromMs, toMs } = await cut(files, { fromMs: at(-50), toMs: at(100) });
  assert.deepEqual(
    gaps.map((gap) => [Math.round(gap.fromMs), Math.round(gap.toMs)]),
    [
      [at(-50), at(0)],
      [at(75), at(100)],
    ],
  );
  assert.deepEqual([Math.round(fromMs), Math.round(toMs)], [at(0), at(75)]);
  assert.equal(await cutClip(files, { fromMs: at(-50), toMs: at(-1) }), null);
  assert.equal(await cutClip(files, { fromMs: at(200), toMs: at(210) }), null);
  assert.equal(await cutClip([], { fromMs: at(0), toMs: at(10) }), null);
});

test("files from long before the range do not count", async () => {
  const published = makeClip({ seconds: 12, fps: FPS, gop: GOP, bFrames: 2 });
  const files = record(published, 3);
  const at = timesOf(published);
  const range = { fromMs: at(260), toMs: at(270) };
  const { head, bytes, path } = await cut(files, range);
  assert.deepEqual(hashPictures(path), hashClip(published).slice(260, 270));
  const alone = await cut(files.slice(-1), range);
  assert.deepEqual([head.length, bytes], [alone.head.length, alone.bytes]);
});

test("reads only headers and indexes of a long file", async () => {
  const published = makeClip({ seconds: 30, fps: FPS, gop: GOP });
  const [file] = record(published, 30);
  const at = timesOf(published);
  assert.ok(file !== undefined);
  let bytes = 0;
  const counted: ClipFile = {
    ...file,
    async read(from, count) {
      const view = await file.read(from, count);
      bytes += view.length;
      return view;
    },
  };
  await cut([counted], { fromMs: at(600), toMs: at(650) });
  assert.ok(bytes < file.bytes / 2, `${bytes} of ${file.bytes}`);
});
