import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { describe, test } from "node:test";
import type { AccessUnit } from "../../media/access-unit.ts";
import { CAPTURED_MS, makeClip } from "../../media/mp4/clip.fixture.ts";
import { countWithGstreamer, hashClip, hashFiles, hashPictures, probePackets } from "../../media/mp4/decode.fixture.ts";
import { findIntact } from "../../media/mp4/fragment-index.ts";
import { TestRecording } from "./recorder.fixture.ts";

const clip = makeClip({ seconds: 6, bFrames: 2, hasAudio: true });
const other = makeClip({ seconds: 2, size: "160x90" });
const h265 = makeClip({ codec: "h265", seconds: 3, bFrames: 2 });
const isPicture = ({ kind }: AccessUnit): boolean => kind === "video";

describe("recording", () => {
  test("records every picture and audio frame, in files that start with a keyframe", async (t) => {
    const recording = await TestRecording.open(t, { segmentSeconds: 2 });
    recording.recorder.setTracks(clip.tracks);
    for (const unit of clip.units) recording.recorder.push(unit);
    recording.recorder.end();
    await recording.recorder.done;
    assert.deepEqual(await recording.files(), ["0.mp4", "1.mp4", "2.mp4"]);
    const packets = [0, 1, 2].map((index) => probePackets(recording.file(index)));
    for (const found of packets) {
      assert.equal(found.find(({ codec_type }) => codec_type === "video")?.flags[0], "K");
    }
    const sounds = packets.flat().filter(({ codec_type }) => codec_type === "audio");
    assert.equal(sounds.length, clip.units.length - clip.pictures);
    const hashes = hashFiles([0, 1, 2].map((index) => recording.file(index)));
    assert.deepEqual(hashes.flat(), hashClip(clip));
    assert.equal(countWithGstreamer(recording.file(1), 320, 180), 60);
    assert.equal(recording.detail, null);
  });

  test("begins another file where the capture times leave those of the file, if it follows them", async (t) => {
    const late = clip.units.map((unit) => ({
      ...unit,
      captureMs: unit.captureMs + (unit.dtsUs >= 3_500_000 ? 2000 : 100),
    }));
    for (const followsClock of [true, false]) {
      const recording = await TestRecording.open(t, { followsClock });
      recording.recorder.setTracks(clip.tracks);
      for (const unit of late) recording.recorder.push(unit);
      recording.recorder.end();
      await recording.recorder.done;
      assert.deepEqual(
        recording.segments.map(({ startedAtMs }) => startedAtMs - CAPTURED_MS),
        followsClock ? [100, 6000] : [100],
      );
    }
  });

  test("begins another file for the exact clock of a camera that reported it after its first pictures", async (t) => {
    const begin = async (offsetOf: (index: number) => number): Promise<readonly number[]> => {
      const recording = await TestRecording.open(t, { followsClock: true });
      recording.recorder.setTracks(clip.tracks);
      for (const [index, unit] of clip.units.entries())
        recording.recorder.push({ ...unit, captureMs: unit.captureMs + offsetOf(index) });
      recording.recorder.end();
      await recording.recorder.done;
      return recording.segments.map(({ startedAtMs }) => startedAtMs - CAPTURED_MS);
    };
    assert.deepEqual(await begin((index) => (index < 5 ? 100 : 0)), [100, 1000]);
    // Times of arrival, which vary.
    assert.deepEqual(await begin((index) => (index % 3) * 50), [0]);
  });

  test("records H.265, in files that start with a keyframe", async (t) => {
    const recording = await TestRecording.open(t, { segmentSeconds: 1 });
    recording.recorder.setTracks(h265.tracks);
    for (const unit of h265.units) recording.recorder.push(unit);
    recording.recorder.end();
    await recording.recorder.done;
    assert.deepEqual(await recording.files(), ["0.mp4", "1.mp4"]);
    const all = hashClip(h265);
    const [first, second] = hashFiles([0, 1].map((index) => recording.file(index)));
    // The pictures of an open GOP that are displayed before its keyframe need the file before.
    assert.deepEqual(
      first,
      all.filter((hash) => first?.includes(hash)),
    );
    assert.deepEqual(second, all.slice(-30));
    assert.equal(countWithGstreamer(recording.file(1), 320, 180, "h265"), 30);
    const bytes = readFileSync(recording.file(1));
    assert.ok(bytes.includes("hvc1") && bytes.includes("hvcC") && !bytes.includes("hev1"));
  });

  test("reports what the file contains", async (t) => {
    const recording = await TestRecording.open(t, { segmentSeconds: 4 });
    recording.recorder.setTracks(clip.tracks);
    for (const unit of clip.units) recording.recorder.push(unit);
    recording.recorder.end();
    await recording.recorder.done;
    assert.deepEqual(
      recording.segments.map(({ index, startedAtMs, durationMs }) => ({ index, startedAtMs, durationMs })),
      [
        { index: 0, startedAtMs: CAPTURED_MS, durationMs: 4000 },
        { index: 1, startedAtMs: CAPTURED_MS + 4000, durationMs: 2000 },
      ],
    );
    for (const { index, bytes, path } of recording.segments) {
      assert.equal(bytes, statSync(recording.file(index)).size);
      assert.equal(path, "user/camera");
    }
  });

  test("one can seek to any picture of it", async (t) => {
    const recording = await TestRecording.open(t);
    recording.recorder.setTracks(clip.tracks);
    for (const unit of clip.units) recording.recorder.push(unit);
    recording.recorder.end();
    await recording.recorder.done;
    const file = recording.file(0);
    const places = [0, 29, 44, 61, 100, 179].map((wanted) => ({ wanted, seconds: `${wanted / 30 + 0.001}` }));
    const [all = [], ...rests] = hashFiles([file, ...places.map(({ seconds }) => ["-ss", seconds, file])]);
    for (const [i, { wanted, seconds }] of places.entries()) {
      const rest = rests[i] ?? [];
      // B-frames are shown later than they are decoded, and sound may begin before the pictures do.
      const missing = Math.abs(all.length - wanted - rest.length);
      assert.ok(missing <= 3, `${rest.length} pictures after ${seconds} s`);
      assert.deepEqual(rest, all.slice(-rest.length));
    }
  });

  test("a pause of the publisher is as long in the file", async (t) => {
    const recording = await TestRecording.open(t);
    recording.recorder.setTracks(other.tracks);
    for (const unit of other.units) {
      const lateUs = unit.dtsUs >= 1_000_000 ? 3_000_000 : 0;
      recording.recorder.push({ ...unit, dtsUs: unit.dtsUs + lateUs, ptsUs: unit.ptsUs + lateUs });
    }
    recording.recorder.end();
    await recording.recorder.done;
    const times = probePackets(recording.file(0)).map(({ pts_time }) => Number(pts_time));
    assert.ok(times.some((time, i) => i > 0 && Math.abs(time - (times[i - 1] ?? 0) - 3.0333) < 0.001));
    assert.equal(recording.segments[0]?.durationMs, 5000);
  });

  test("other tracks are another file", async (t) => {
    const recording = await TestRecording.open(t);
    recording.recorder.setTracks(clip.tracks);
    for (const unit of clip.units.slice(0, 100)) recording.recorder.push(unit);
    recording.recorder.setTracks(other.tracks);
    for (const unit of other.units)
      recording.recorder.push({ ...unit, dtsUs: unit.dtsUs + 9e6, ptsUs: unit.ptsUs + 9e6 });
    recording.recorder.end();
    await recording.recorder.done;
    const expected = [hashClip({ units: clip.units.slice(0, 100) }), hashClip(other)];
    assert.deepEqual(hashFiles([0, 1].map((index) => recording.file(index))), expected);
    assert.equal(Number(probePackets(recording.file(1))[0]?.dts_time), 0);
  });

  test("a growing file is intact up to the last report", async (t) => {
    const recording = await TestRecording.open(t);
    recording.recorder.setTracks(clip.tracks);
    for (const unit of clip.units.slice(0, 200)) recording.recorder.push(unit);
    await recording.until(() => recording.segments.length > 0);
    const [reported] = recording.segments;
    const file = await open(recording.file(0));
    const { bytes, durationUs } = await findIntact(file);
    await file.close();
    assert.ok(bytes >= (reported?.bytes ?? Number.POSITIVE_INFINITY));
    assert.ok(durationUs / 1000 >= (reported?.durationMs ?? Number.POSITIVE_INFINITY));
    recording.recorder.end();
    await recording.recorder.done;
  });

  test("writes a single picture while its stream is live", async (t) => {
    const recording = await TestRecording.open(t);
    recording.recorder.setTracks(other.tracks);
    for (const unit of other.units.slice(0, 1)) recording.recorder.push(unit);
    await recording.until(() => recording.segments.length > 0);
    assert.equal(hashPictures(recording.file(0)).length, 1);
    for (const unit of other.units.slice(1)) recording.recorder.push(unit);
    recording.recorder.end();
    await recording.recorder.done;
    assert.deepEqual(hashPictures(recording.file(0)), hashClip(other));
  });
});

describe("errors", () => {
  test("a recording without pictures leaves no files", async (t) => {
    const recording = await TestRecording.open(t);
    recording.recorder.setTracks(clip.tracks);
    for (const unit of clip.units.filter(({ isKey, kind }) => !isKey || kind === "audio"))
      recording.recorder.push(unit);
    recording.recorder.end();
    await recording.recorder.done;
    assert.throws(() => statSync(`${recording.folder}/one`), { code: "ENOENT" });
    assert.deepEqual(recording.segments, []);
    assert.equal(recording.detail, null);
  });

  test("a disk with too little room ends it with a reason", async (t) => {
    const recording = await TestRecording.open(t, { reserveBytes: Number.MAX_SAFE_INTEGER });
    recording.recorder.setTracks(clip.tracks);
    for (const unit of clip.units) recording.recorder.push(unit);
    await recording.recorder.done;
    assert.match(recording.detail ?? "", /^the disk has \d+ MB free, but \d+ MB must stay free/);
    assert.deepEqual(await recording.files(), []);
    recording.recorder.end();
  });

  test("a folder that cannot be written to ends it with a reason that does not name it", async (t) => {
    const recording = await TestRecording.open(t, { folder: "/dev/null/recordings" });
    recording.recorder.setTracks(clip.tracks);
    for (const unit of clip.units) recording.recorder.push(unit);
    await recording.recorder.done;
    assert.match(recording.detail ?? "", /^the recording could not be written \([A-Z]+\)$/);
  });

  test("a slow disk loses pictures up to a keyframe, and logs it", async (t) => {
    const short = makeClip({ seconds: 4, gop: 15 });
    const recording = await TestRecording.open(t, { readerBytes: 60_000 });
    recording.recorder.setTracks(short.tracks);
    // The event loop is blocked: nothing can be written.
    const [first, second] = [short.units.slice(0, 90), short.units.slice(90)];
    for (const unit of first) recording.recorder.push(unit);
    await recording.until(() => recording.segments.length > 0);
    await recording.until(() => (recording.segments[0]?.durationMs ?? 0) > 0);
    for (const unit of second) recording.recorder.push(unit);
    recording.recorder.end();
    await recording.recorder.done;
    assert.ok(recording.recorder.missed > 0);
    const packets = probePackets(recording.file(0));
    assert.equal(packets.length, short.units.filter(isPicture).length - recording.recorder.missed);
    assert.equal(hashPictures(recording.file(0)).length, packets.length);
    for (const [i, { dts_time, flags }] of packets.entries()) {
      const before = Number(packets[i - 1]?.dts_time ?? dts_time);
      if (Number(dts_time) - before > 0.05) assert.equal(flags[0], "K", `what follows the gap at ${before} s`);
    }
    assert.ok(recording.log.some((line) => line.startsWith("warn: disk too slow")));
    assert.equal(recording.detail, null);
  });

  test("rejects names that lead out of the folder", async (t) => {
    for (const name of ["../other", "a/b", "", ".", ".."]) {
      await assert.rejects(TestRecording.open(t, { recording: name }), /invalid recording name/);
    }
  });

  test("files of the same name are never written over", async (t) => {
    const first = await TestRecording.open(t);
    const record = async ({ recorder }: TestRecording) => {
      recorder.setTracks(other.tracks);
      for (const unit of other.units) recorder.push(unit);
      recorder.end();
      await recorder.done;
    };
    await record(first);
    const before = readFileSync(first.file(0));
    const second = await TestRecording.open(t, { folder: first.folder });
    await record(second);
    assert.deepEqual(
      second.segments.map(({ index }) => index),
      [1],
    );
    assert.ok(before.equals(readFileSync(first.file(0))));
  });
});
