import assert from "node:assert/strict";
import { test } from "node:test";
import { evaluateMot } from "../eval/mot/evaluate.ts";
import { mot15 } from "../eval/mot/mot.fixture.ts";
import { listSequences } from "../eval/mot/sequences.ts";
import { createTracker, PRESETS } from "./presets.ts";

for (const preset of PRESETS)
  test(`${preset} tracks a walking person`, () => {
    const tracker = createTracker(preset);
    const ids = Array.from({ length: 20 }, (_, i) =>
      tracker.update(BigInt(i) * 40_000_000n, [{ box: [100 + 3 * i, 50, 40, 100], confidence: 0.9, classId: 0 }]),
    ).flatMap((shown) => shown.map(({ id }) => id));
    assert.deepEqual([...new Set(ids)], [1]);
    assert.ok(ids.length >= 17);
  });

// The best of SORT, ByteTrack, OC-SORT, BoT-SORT and Hybrid-SORT on these detections, by their authors' own code.
const BEST = { hota: 0.463, assA: 0.423, idf1: 0.608 };

test("scores better than the published trackers on MOT15", { skip: mot15.skip }, async () => {
  const origin = {
    kind: "detections",
    file: "det_sort_frcnn.txt",
    createTracker: () => createTracker("default"),
    out: undefined,
  } as const;
  const { combined } = await evaluateMot(listSequences(mot15.folder), origin, () => {});
  for (const name of ["hota", "assA", "idf1"] as const)
    assert.ok(combined.scores[name] > BEST[name] + 0.02, `${name} ${combined.scores[name]}`);
});
