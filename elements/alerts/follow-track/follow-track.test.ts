import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Evaluator, Scene, Sighting } from "../alert-type.ts";
import { boxAt, brief, evaluatorOf, faultsOf, START_MS, sceneAt, seenAt } from "../scene.fixture.ts";

const show = (evaluator: Evaluator, ms: number, sightings: readonly Sighting[], change: Partial<Scene> = {}) =>
  evaluator.see(sceneAt(ms, sightings, change));

const sized = (id: number, size: number, change = {}): Sighting =>
  seenAt(id, 0.5, 0.5, { box: boxAt(0.5, 0.5, size, size), ...change });

for (const [select, chosen] of [
  ["largest", 2],
  ["most_confident", 3],
  ["first", 1],
  [undefined, 2],
] as const)
  test(`selects the ${select ?? "largest by default"} track`, () => {
    const evaluator = evaluatorOf("follow-track", { parameters: select === undefined ? {} : { select } });
    const events = show(evaluator, 0, [
      sized(3, 0.1, { confidence: 0.95, ageMs: 10 }),
      sized(1, 0.1, { confidence: 0.5, ageMs: 900 }),
      sized(2, 0.2, { confidence: 0.6, ageMs: 500 }),
      sized(4, 0.9, { predicted: true, confidence: 1, ageMs: 10_000 }),
    ]);
    assert.deepEqual(brief(events), [`triggered ${chosen}`]);
    assert.deepEqual(events[0]?.data, { track_id: chosen, previous_track_id: null });
  });

test("selects the first of equal tracks", () => {
  assert.deepEqual(brief(show(evaluatorOf("follow-track"), 0, [sized(9, 0.1), sized(4, 0.1), sized(7, 0.1)])), [
    "triggered 4",
  ]);
});

test("reports the position every interval, from detections only", () => {
  const evaluator = evaluatorOf("follow-track", { parameters: { interval_seconds: 1 } });
  const reportedMs: number[] = [];
  for (let ms = 0; ms <= 3000; ms += 100) {
    const isGuess = ms === 1000 || ms === 1100;
    const events = show(
      evaluator,
      ms,
      [sized(1, 0.2, { predicted: isGuess }), sized(2, 0.5 + ms / 10_000)].slice(0, ms === 0 ? 1 : 2),
    );
    for (const { event, sightings } of events) {
      assert.equal(event, ms === 0 ? "triggered" : "updated");
      assert.deepEqual(
        sightings.map(({ track }) => track.id),
        [1],
      );
      reportedMs.push(ms);
    }
  }
  assert.deepEqual(reportedMs, [0, 1200, 2200]);
});

test("reports the loss of the track with the reason, and the next track", () => {
  const evaluator = evaluatorOf("follow-track", { parameters: { lost_after_seconds: 2 } });
  show(evaluator, 0, [sized(1, 0.3), sized(2, 0.2)]);
  show(evaluator, 500, [sized(1, 0.3), sized(2, 0.2)]);
  assert.deepEqual(show(evaluator, 2499, [sized(2, 0.2)]), []);
  const lost = show(evaluator, 2500, [sized(2, 0.2)]);
  assert.deepEqual(brief(lost), ["cleared 1", "triggered 2"]);
  assert.deepEqual(
    lost.map(({ data }) => data),
    [
      { track_id: 1, reason: "not_seen", last_seen: new Date(START_MS + 500).toISOString(), followed_seconds: 0.5 },
      { track_id: 2, previous_track_id: 1 },
    ],
  );
  const ended = show(evaluator, 2600, [], { ended: [2] });
  assert.deepEqual([brief(ended), ended[0]?.data.reason], [["cleared 2"], "track_ended"]);
  const next = show(evaluator, 9000, [sized(3, 0.1)]);
  assert.deepEqual([brief(next), next[0]?.data.previous_track_id], [["triggered 3"], 2]);
  evaluator.forget();
  const jumped = show(evaluator, 9100, [sized(4, 0.1)]);
  assert.deepEqual([brief(jumped), jumped[0]?.data.reason], [["cleared 3", "triggered 4"], "stream_jumped"]);
});

test("a track selected by id is not replaced, and is selected again when it returns", () => {
  const evaluator = evaluatorOf("follow-track", { parameters: { track_id: 7, lost_after_seconds: 1 } });
  assert.deepEqual(show(evaluator, 0, [sized(1, 0.5)]), []);
  assert.deepEqual(brief(show(evaluator, 100, [sized(1, 0.5), sized(7, 0.1)])), ["triggered 7"]);
  assert.deepEqual(brief(show(evaluator, 1100, [sized(1, 0.5)])), ["cleared 7"]);
  assert.deepEqual(show(evaluator, 1200, [sized(1, 0.5)]), []);
  assert.deepEqual(brief(show(evaluator, 1300, [sized(7, 0.1)])), ["triggered 7"]);
});

test("region and filter apply to the selection, not to the followed track", () => {
  const evaluator = evaluatorOf("follow-track", {
    region: { polygon: [[0, 0], [0.5, 0], [0.5, 1], [0, 1]] }, // biome-ignore format: points
    filter: { class_names: ["car"] },
    parameters: { interval_seconds: 0.1 },
  });
  const car = (x: number) => seenAt(1, x, 0.5, { className: "car" });
  assert.deepEqual(show(evaluator, 0, [seenAt(2, 0.2, 0.5), car(0.8)]), []);
  assert.deepEqual(brief(show(evaluator, 100, [car(0.4)])), ["triggered 1"]);
  assert.deepEqual(brief(show(evaluator, 200, [car(0.8)])), ["updated 1"]);
});

test("for any sequence of tracks: follows one at a time, names the previous one, and never selects a missing track", () => {
  const step = fc.record({
    ms: fc.integer({ min: 10, max: 900 }),
    there: fc.uniqueArray(fc.integer({ min: 1, max: 6 }), { maxLength: 4 }),
    ended: fc.uniqueArray(fc.integer({ min: 1, max: 6 }), { maxLength: 1 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const evaluator = evaluatorOf("follow-track", { parameters: { lost_after_seconds: 1, interval_seconds: 0.5 } });
      let [nowMs, followed, previous] = [0, null as number | null, null as number | null];
      let lastSeenMs = 0;
      for (const { ms, there, ended } of steps) {
        nowMs += ms;
        const events = show(
          evaluator,
          nowMs,
          there.map((id) => sized(id, id / 16)),
          { ended },
        );
        const wasSeen = followed !== null && there.includes(followed);
        if (wasSeen) lastSeenMs = nowMs;
        const isLost = followed !== null && (ended.includes(followed) || nowMs - lastSeenMs >= 1000);
        for (const { event, sightings, data } of events) {
          const id = sightings[0]?.track.id ?? null;
          if (event === "triggered") {
            assert.equal(followed, null);
            assert.deepEqual(data, { track_id: id, previous_track_id: previous });
            assert.equal(id, Math.max(...there.filter((one) => !ended.includes(one))));
            [followed, lastSeenMs] = [id, nowMs];
          } else {
            assert.equal(id, followed);
            assert.equal(event === "cleared", isLost);
            if (event === "cleared") [followed, previous] = [null, id];
          }
        }
        if (isLost) assert.equal(events[0]?.event, "cleared");
        // A track that could be selected was.
        assert.equal(followed === null, followed === null && there.every((id) => ended.includes(id)));
      }
    }),
    { numRuns: 150 },
  );
});

test("rejects track_id together with select", () => {
  assert.match(
    faultsOf("follow-track", { parameters: { track_id: 3, select: "first" } }).join(),
    /^\/parameters\/track_id cannot be given together with select/,
  );
  assert.match(
    faultsOf("follow-track", { parameters: { select: "biggest" } }).join(),
    /expected "largest", "most_confident" or "first"/,
  );
  assert.match(
    faultsOf("follow-track", { trigger: { count: 1 } }).join(),
    /^\/trigger\/count is not known here; none are/,
  );
});
