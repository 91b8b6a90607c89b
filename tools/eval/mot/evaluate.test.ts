import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { makeFolder } from "../../../cli/windhover.fixture.ts";
import type { MotTracker } from "../../../elements/track/mot-tracker.ts";
import { evaluateMot } from "./evaluate.ts";
import { makeSequence } from "./mot.fixture.ts";
import { listSequences } from "./sequences.ts";

const folder = join(makeFolder(), "sequences");
for (const name of ["one", "two"]) makeSequence(folder, name);

test("the rate is that of a second pass, when all sequences have been tracked once", async (t) => {
  let nowMs = 0;
  t.mock.method(performance, "now", () => nowMs);
  let made = 0;
  const createTracker = (): MotTracker => {
    const isFirstPass = made++ < 2;
    return {
      update: (_, sightings) => {
        nowMs += isFirstPass ? 1000 : 1;
        return sightings.map(({ box, confidence }) => ({ id: isFirstPass ? 1 : 2, box, confidence, predicted: false }));
      },
    };
  };
  const origin = { kind: "detections", file: "det.txt", createTracker, out: undefined } as const;
  const { sequences, combined } = await evaluateMot(listSequences(folder), origin, () => {});
  assert.equal(made, 4);
  for (const { framesPerSecond } of [...sequences, combined]) assert.equal(framesPerSecond, 1000);
  for (const { scores } of sequences) assert.deepEqual(scores.comparison.trackIds, [1]);
});
