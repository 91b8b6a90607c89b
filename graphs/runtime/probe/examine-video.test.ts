import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { framesOf, H264, makeFilm, makeSound, withFolder } from "../../../native/film.fixture.ts";
import { NO_HANG, pictures, play } from "../../../native/pipeline.fixture.ts";
import { examineVideo } from "./examine-video.ts";

async function faultOf(bytes: Buffer | string): Promise<string | null> {
  return withFolder(async (folder) => {
    const file = join(folder, "upload.mp4");
    await writeFile(file, bytes);
    const { video, fault } = await examineVideo(file);
    assert.equal(video, null);
    assert.doesNotMatch(fault ?? "", /\//, "the fault contains a path");
    return fault;
  });
}

const film = (frames = 30, sound = true) =>
  withFolder(async (folder) => {
    await makeFilm(join(folder, "film.mp4"), frames, sound);
    return readFile(join(folder, "film.mp4"));
  });

test("describes an mp4", NO_HANG, async () => {
  await withFolder(async (folder) => {
    await makeFilm(join(folder, "film.mp4"), 30, true);
    const { video, fault } = await examineVideo(join(folder, "film.mp4"));
    assert.equal(fault, null);
    const { duration_ms: durationMs, ...facts } = video ?? {};
    assert.deepEqual(facts, { container: "mp4", codec: "video/x-h264", width: 64, height: 48, fps: 30, start_ms: 0 });
    assert.ok(durationMs !== null && durationMs !== undefined && durationMs >= 1000 && durationMs < 1200);
  });
});

test("recognises mov and avi by their bytes, whatever their names", NO_HANG, async () => {
  await withFolder(async (folder) => {
    const file = join(folder, "upload.mp4");
    await play({ ...pictures(10), ...H264, muxer: ["qtmux"], file: ["filesink", { location: file }] });
    assert.equal((await examineVideo(file)).video?.container, "mov");
    await play({ ...pictures(10), coder: ["jpegenc"], muxer: ["avimux"], file: ["filesink", { location: file }] });
    const { video } = await examineVideo(file);
    assert.deepEqual([video?.container, video?.codec, video?.width], ["avi", "image/jpeg", 64]);
  });
});

test("describes a transport stream, whose first frame is after its clock", NO_HANG, async () => {
  await withFolder(async (folder) => {
    const file = join(folder, "upload.ts");
    await play({ ...pictures(30), ...H264, muxer: ["mpegtsmux"], file: ["filesink", { location: file }] });
    const { video } = await examineVideo(file);
    const { duration_ms: durationMs, start_ms: startMs, ...facts } = video ?? assert.fail();
    assert.deepEqual(facts, { container: "ts", codec: "video/x-h264", width: 64, height: 48, fps: 30 });
    const [first = 0n] = await framesOf(file);
    assert.equal(startMs, Number(first) / 1e6);
    // The demuxer does not know its length.
    assert.ok(startMs > 0 && durationMs === null, `${startMs} ${durationMs}`);
    // A part of one, and one with other bytes before it.
    const bytes = await readFile(file);
    assert.equal((await faultOf(bytes.subarray(0, 188 * 2)))?.includes("first bytes"), true);
    assert.match((await faultOf(Buffer.concat([Buffer.from("G"), bytes]))) ?? "", /first bytes/);
  });
});

test("rejects files that are not videos, with their type", NO_HANG, async () => {
  assert.match((await faultOf("PK\x03\x04zipped")) ?? "", /ZIP archive/);
  assert.match((await faultOf("only words in here")) ?? "", /text file/);
  assert.match((await faultOf("")) ?? "", /first bytes/);
  assert.match((await faultOf(Buffer.alloc(100_000))) ?? "", /first bytes/);
});

test("rejects sound without video", NO_HANG, async () => {
  await withFolder(async (folder) => {
    await makeSound(join(folder, "sound.mp4"));
    assert.match((await faultOf(await readFile(join(folder, "sound.mp4")))) ?? "", /sound .* no video/);
  });
});

test("rejects a film with a truncated index", NO_HANG, async () => {
  const bytes = await film();
  const index = bytes.indexOf("moov");
  assert.match((await faultOf(bytes.subarray(0, index + 200))) ?? "", /damaged or incomplete/);
  assert.match((await faultOf(bytes.subarray(0, 400))) ?? "", /damaged or incomplete/);
});

test("rejects a film of which no frame can be decoded", NO_HANG, async () => {
  const bytes = await film(30, false);
  bytes.fill(0, bytes.indexOf("mdat") + 4, bytes.indexOf("moov") - 4);
  assert.match((await faultOf(bytes)) ?? "", /no frame can be decoded/);
});
