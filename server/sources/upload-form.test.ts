import assert from "node:assert/strict";
import { test } from "node:test";
import { readVideoName } from "./upload-form.ts";

const TAKEN: readonly (readonly [given: string, shown: string, extension: string])[] = [
  ["clip.mp4", "clip.mp4", "mp4"],
  ["Flight 7.MOV", "Flight 7.MOV", "mov"],
  ["a.b.AvI", "a.b.AvI", "avi"],
  ["walk.MKV", "walk.MKV", "mkv"],
  ["../../etc/passwd.mp4", "passwd.mp4", "mp4"],
  ["C:\\clips\\a.mov", "a.mov", "mov"],
  ["a\u0000b\u001f\u007f.mp4", "ab.mp4", "mp4"],
  ["a\u202egpj.mp4", "agpj.mp4", "mp4"],
  ["  clip.mp4 ", "clip.mp4", "mp4"],
  [".mp4", ".mp4", "mp4"],
  ["наш фильм.avi", "наш фильм.avi", "avi"],
  [`${"x".repeat(400)}.mp4`, `${"x".repeat(251)}.mp4`, "mp4"],
  [`${"😀".repeat(400)}.mp4`, `${"😀".repeat(251)}.mp4`, "mp4"],
];
for (const [given, shown, extension] of TAKEN) {
  test(`${JSON.stringify(given.slice(0, 40))} is shown as ${JSON.stringify(shown.slice(0, 40))}`, () => {
    assert.deepEqual(readVideoName(given), { shown, extension });
  });
}

for (const given of [
  undefined,
  "",
  "clip",
  "mp4",
  "clip.flv",
  "clip.mp4.exe",
  "clip.mp4/",
  "clip.mp4\u0000.png",
  "..",
  "clip.",
]) {
  test(`${JSON.stringify(given)} is rejected`, () => {
    assert.throws(() => readVideoName(given), { name: "ServiceError", code: "invalid_input" });
  });
}
