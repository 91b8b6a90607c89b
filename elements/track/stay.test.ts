import assert from "node:assert/strict";
import { test } from "node:test";
import { MeanStay } from "./stay.ts";

/** `begun` tracks per second while `seen` tracks are visible. */
function watch(stay: MeanStay, durationS: number, seen: number, begun: number): MeanStay {
  for (let i = 0; i < durationS * 10; i++) stay.note(0.1, seen, begun / 10);
  return stay;
}

test("begins with the usual stay", () => assert.equal(new MeanStay(12).seconds, 12));

test("measures how long objects stay: two visible, one new per second, for two seconds each", () => {
  const { seconds } = watch(new MeanStay(12), 120, 2, 1);
  assert.ok(Math.abs(seconds - 2) < 0.3, String(seconds));
});

test("is limited in a scene where nothing begins, and in one where everything flickers", () => {
  assert.equal(watch(new MeanStay(12), 300, 50, 0).seconds, 30);
  assert.equal(watch(new MeanStay(12), 300, 1, 20).seconds, 1);
});

test("returns to the usual stay while nothing is visible, and when it forgets", () => {
  const stay = watch(new MeanStay(12), 60, 2, 1);
  assert.ok(stay.seconds < 4);
  assert.ok(watch(stay, 600, 0, 0).seconds > 11.9);
  watch(stay, 60, 2, 1).forget();
  assert.equal(stay.seconds, 12);
});

test("a step back in time or none changes nothing", () => {
  const stay = watch(new MeanStay(12), 60, 2, 1);
  const before = stay.seconds;
  for (const seconds of [0, -5, Number.NaN]) stay.note(seconds, 3, 3);
  assert.equal(stay.seconds, before);
});
