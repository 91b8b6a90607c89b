import assert from "node:assert/strict";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { recogniseFile } from "../graphs/runtime/file-kind.ts";
import { expectFile } from "./files.ts";

const folder = mkdtempSync(join(tmpdir(), "windhover-"));
after(() => rmSync(folder, { recursive: true }));
const write = (name: string, content: string | Buffer): string => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};

test("rejects a missing file, a folder and an empty file", () => {
  const clip = write("clip.mp4", "x");
  assert.doesNotThrow(() => expectFile(clip));
  assert.throws(() => expectFile(join(folder, "clp.mp4")), /there is no file .*did you mean "clip\.mp4"\?/);
  assert.throws(() => expectFile(folder), /is a folder/);
  assert.throws(() => expectFile(write("empty.mp4", "")), /is empty/);
});

test("explains every other path that is not a video file", () => {
  const clip = write("clip.mp4", "x");
  symlinkSync("loop.mp4", join(folder, "loop.mp4"));
  assert.throws(() => expectFile(join(clip, "x.mp4")), /a part of its path is a file, not a folder/);
  assert.throws(() => expectFile(join(folder, "x".repeat(300))), /the name is too long/);
  assert.throws(() => expectFile(join(folder, "loop.mp4")), /its symbolic links form a loop/);
  assert.throws(() => expectFile("/dev/zero"), /is not a regular file/);
});

test("suggests only a file whose name differs by one letter", () => {
  write("five.mp4", "x");
  assert.throws(() => expectFile(join(folder, "nofile.mp4")), /there is no file [^;]*$/);
  assert.throws(() => expectFile(join(folder, "fiv.mp4")), /did you mean "five\.mp4"\?/);
});

for (const [what, content] of [
  ["a text file", "Dear diary"],
  ["a web page", "\n<!DOCTYPE html><title>x"],
  ["a PDF document", "%PDF-1.7\n"],
  ["a WAV sound file", "RIFF\x00\x01\x02\x03WAVEfmt "],
  [null, Buffer.from([0, 0, 0, 0x18, 0x66, 0x74, 0x79, 0x70, 0x6d, 0x70, 0x34, 0x32])],
] as const) {
  test(`${what ?? "nothing known"} is recognised`, () => assert.equal(recogniseFile(write("file", content)), what));
}
