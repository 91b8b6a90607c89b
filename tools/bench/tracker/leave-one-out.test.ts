import assert from "node:assert/strict";
import { test } from "node:test";
import { leaveOneOut } from "./leave-one-out.ts";

test("never uses the score of the sequence that is left out", () => {
  // The second candidate is best in total, but only because of the third sequence.
  const scores = [
    [5, 5, 1],
    [4, 4, 9],
  ];
  assert.deepEqual(leaveOneOut(scores), [1, 1, 0]);
});

test("takes the first of equal candidates", () =>
  assert.deepEqual(
    leaveOneOut([
      [1, 1],
      [1, 1],
    ]),
    [0, 0],
  ));
