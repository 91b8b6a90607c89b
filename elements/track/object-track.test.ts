import assert from "node:assert/strict";
import { test } from "node:test";
import { ClassVote } from "./object-track.ts";

const [CAR, TRUCK] = [2, 7];
const FRAME_S = 0.04;

/** The class after each vote of `seconds` seconds; `see` gives the class at a time. */
function show(vote: ClassVote, seconds: number, fps: number, see: (timeS: number) => number): readonly number[] {
  return Array.from({ length: seconds * fps }, (_, i) => {
    vote.cast(see(i / fps), 0.6, 1 / fps);
    return vote.classId;
  });
}

const countChanges = (shown: readonly number[]): number =>
  shown.filter((classId, i) => i > 0 && classId !== shown[i - 1]).length;

test("an occasional vote for another class changes nothing", () => {
  const vote = new ClassVote(CAR, 0.7);
  for (let i = 0; i < 100; i++) {
    vote.cast(i % 3 === 0 ? TRUCK : CAR, 0.6, FRAME_S);
    assert.equal(vote.classId, CAR);
  }
});

test("alternating votes do not make the class flicker", () => {
  const vote = new ClassVote(CAR, 0.5);
  assert.ok(countChanges(show(vote, 4, 25, (timeS) => (Math.round(timeS * 25) % 2 === 0 ? TRUCK : CAR))) <= 1);
});

for (const fps of [5, 60])
  test(`votes alternating every three seconds do not either, at ${fps} fps`, () => {
    const shown = show(new ClassVote(CAR, 0.6), 60, fps, (timeS) => (Math.floor(timeS / 3) % 2 === 0 ? CAR : TRUCK));
    assert.deepEqual([...new Set(shown)], [CAR]);
  });

test("a class held for ten seconds changes after about as long, at any frame rate", () => {
  const left = [1, 5, 25, 60].map((fps) => {
    const heldS = fps === 1 ? 40 : 10; // slower than four a second, votes are counted and not seconds
    const shown = show(new ClassVote(CAR, 0.6), 2 * heldS, fps, (timeS) => (timeS < heldS ? CAR : TRUCK));
    return (shown.indexOf(TRUCK) / fps - heldS) / heldS;
  });
  for (const share of left) assert.ok(share > 0.6 && share < 1, `left after ${left} of the time it was held`);
});

test("corrects an initially wrong class, once", () => {
  const vote = new ClassVote(TRUCK, 0.5);
  vote.cast(TRUCK, 0.5, FRAME_S);
  const shown: number[] = [];
  for (let i = 0; i < 20; i++) {
    vote.cast(CAR, 0.8, FRAME_S);
    shown.push(vote.classId);
  }
  assert.deepEqual([...new Set(shown)], [TRUCK, CAR]);
});

test("weights votes by confidence", () => {
  const vote = new ClassVote(TRUCK, 0.3);
  vote.cast(CAR, 0.9, 0.1);
  assert.equal(vote.classId, CAR);
});

test("one vote after a long absence does not override many", () => {
  const vote = new ClassVote(CAR, 0.6);
  show(vote, 1, 25, () => CAR);
  vote.cast(TRUCK, 0.9, 2);
  assert.equal(vote.classId, CAR);
});
