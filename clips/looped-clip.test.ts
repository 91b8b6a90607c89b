import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { makeClip } from "./clip.fixture.ts";
import { LoopedClip } from "./looped-clip.ts";
import { CLIP_FPS, convertClip } from "./prepare-clip.ts";

const folder = mkdtempSync(join(tmpdir(), "windhover-loop-"));
after(() => rmSync(folder, { recursive: true, force: true }));

test("continues with the first picture after the last, with continuous timestamps", async () => {
  const [source, converted] = [join(folder, "a street!.avi"), join(folder, "converted.h264")];
  await makeClip(source, 25);
  await convertClip(source, converted);
  const clip = new LoopedClip(readFileSync(converted), CLIP_FPS);
  assert.equal(clip.pictures, 25);
  const { width, height } = clip.tracks.video;
  assert.deepEqual([width, height], [160, 120]);
  const units = Array.from({ length: 60 }, (_, index) => clip.unit(index, 0));
  assert.deepEqual(
    units.map(({ dtsUs }) => dtsUs),
    units.map((_, index) => index * 100_000),
  );
  const keys = units.flatMap(({ isKey }, index) => (isKey ? [index] : []));
  assert.deepEqual(keys, [0, 10, 20, 25, 35, 45, 50]);
  assert.deepEqual(units[25]?.parts, units[0]?.parts);
});

test("explains a file that is not a video, and leaves no file", async () => {
  const [source, converted] = [join(folder, "text"), join(folder, "none.h264")];
  writeFileSync(source, "no video at all");
  await assert.rejects(convertClip(source, converted), /^Error: gst-launch-1\.0 exited with 1: .*\w/s);
  assert.equal(existsSync(converted), false);
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.startsWith(".part")),
    [],
  );
});

test("rejects a stream that does not begin with a keyframe", () => {
  const lone = Buffer.from([0, 0, 0, 1, 9, 0xf0, 0, 0, 1, 0x41, 1, 2, 3]);
  for (const bytes of [Buffer.alloc(0), lone])
    assert.throws(() => new LoopedClip(bytes, 10), /does not begin with a keyframe/);
});
