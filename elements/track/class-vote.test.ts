import assert from "node:assert/strict";
import { test } from "node:test";
import { ClassVote } from "./class-vote.ts";

const [CAR, TRUCK] = [2, 7];

test("a class that wins a vote now and then changes nothing", () => {
  const vote = new ClassVote(CAR, 0.7);
  for (let i = 0; i < 100; i++) {
    vote.cast(i % 3 === 0 ? TRUCK : CAR, 0.6);
    assert.equal(vote.classId, CAR);
  }
});

test("two that take turns do not take turns in what is shown", () => {
  const vote = new ClassVote(CAR, 0.5);
  const shown: number[] = [];
  for (let i = 0; i < 100; i++) {
    vote.cast(i % 2 === 0 ? TRUCK : CAR, 0.6);
    shown.push(vote.classId);
  }
  assert.ok(shown.filter((classId, i) => i > 0 && classId !== shown[i - 1]).length <= 1);
});

test("a class that was wrong at first is left, once", () => {
  const vote = new ClassVote(TRUCK, 0.5);
  vote.cast(TRUCK, 0.5);
  const shown: number[] = [];
  for (let i = 0; i < 20; i++) {
    vote.cast(CAR, 0.8);
    shown.push(vote.classId);
  }
  assert.deepEqual([...new Set(shown)], [TRUCK, CAR]);
});

test("a sure vote counts more than an unsure one", () => {
  const vote = new ClassVote(TRUCK, 0.3);
  vote.cast(CAR, 0.9);
  assert.equal(vote.classId, CAR);
});
