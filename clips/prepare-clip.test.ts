import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { prepareClip } from "./prepare-clip.ts";

const folder = mkdtempSync(join(tmpdir(), "windhover-clip-"));
const usual = process.env.WINDHOVER_CACHE_DIR;
process.env.WINDHOVER_CACHE_DIR = folder;
after(() => {
  if (usual === undefined) delete process.env.WINDHOVER_CACHE_DIR;
  else process.env.WINDHOVER_CACHE_DIR = usual;
  rmSync(folder, { recursive: true, force: true });
});

const run = promisify(execFile);
const stages: string[] = [];
const prepare = (file: string, signal = new AbortController().signal): Promise<string> =>
  prepareClip({ file, signal, onStage: (stage) => stages.push(stage) });

/** Nothing but complete clips. */
const listFiles = () => readdirSync(join(folder, "clips")).filter((name) => !/^own-[0-9a-f]+\.mp4$/.test(name));

test("converts a video once, to H.264 at 10 fps with a keyframe per second", async () => {
  const source = join(folder, "a street!.mkv");
  const picture = ["-f", "lavfi", "-i", "testsrc=size=160x120:rate=25", "-frames:v", "50"];
  await run("ffmpeg", ["-loglevel", "error", ...picture, "-c:v", "mpeg4", source]);
  const clip = await prepare(source);
  const { mtimeMs } = statSync(clip);
  assert.deepEqual([await prepare(source), statSync(clip).mtimeMs, stages], [clip, mtimeMs, ["converting"]]);
  const shown = ["-show_entries", "packet=pts_time,flags", "-of", "csv=print_section=0"];
  const { stdout } = await run("ffprobe", ["-loglevel", "error", ...shown, clip]);
  const packets = stdout
    .trim()
    .split("\n")
    .map((line) => line.split(","));
  assert.deepEqual(
    // The conversion of the rate may repeat the last frame.
    packets.map(([time]) => Math.round(Number(time) * 10)).slice(0, 20),
    Array.from({ length: 20 }, (_, index) => index),
  );
  assert.deepEqual(packets.flatMap(([, flags], index) => (flags?.startsWith("K") ? [index] : [])).slice(0, 2), [0, 10]);
  assert.deepEqual(listFiles(), []);
});

test("explains a file that is missing or not a video, and leaves no file", async () => {
  await assert.rejects(prepare(join(folder, "none.mp4")), /\(demo\.clip\) cannot be read: ENOENT/);
  const text = join(folder, "text.mp4");
  writeFileSync(text, "This is not a video.");
  const before = readdirSync(join(folder, "clips"));
  await assert.rejects(
    prepare(text),
    /^Error: the clip text\.mp4 cannot be converted: gst-launch-1\.0 exited with 1: .*\w/s,
  );
  assert.deepEqual(readdirSync(join(folder, "clips")), before);
});

test("an aborted preparation ends and leaves no file", async () => {
  const source = join(folder, "b.mkv");
  writeFileSync(source, "");
  await assert.rejects(prepare(source, AbortSignal.abort()));
  assert.deepEqual(listFiles(), []);
  assert.ok(existsSync(source));
});
