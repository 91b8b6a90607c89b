import assert from "node:assert/strict";
import { describe as describeTests, test } from "node:test";
import type { Json, JsonRecord } from "../../schemas/json.ts";
import { compareGoldens } from "./compare.ts";
import { header } from "./golden.fixture.ts";
import type { Golden } from "./golden.ts";
import { describe, reportComparison } from "./report.ts";
import { LEVELS, type Level } from "./tolerance.ts";

const track = (id: number, x: number): JsonRecord => ({
  track_id: id,
  class_id: 0,
  class_name: "person",
  bbox: [x, 10, 40, 80],
  scaled_bbox: [x / 1000, 0.01, 0.04, 0.08],
  confidence: 80,
});

const golden = (change: (tracks: readonly JsonRecord[], frame: number) => readonly Json[]): Golden => ({
  header: header(),
  said: Array.from({ length: 30 }, (_, index) => ({
    node: "detections",
    channel: "detection_data",
    message: {
      timestamp: new Date(index * 40).toISOString(),
      active_tracks: change([track(1, 10), track(2, 300)], index + 1),
    },
  })),
});
const GOLDEN = golden((tracks) => tracks);

const said = (was: Golden, is: Golden, level: Level) =>
  compareGoldens(was, is, level).flatMap(({ differences }) => differences.map(describe));

test("a recording is the same as itself, at every level", () => {
  for (const level of Object.keys(LEVELS) as Level[]) assert.deepEqual(said(GOLDEN, GOLDEN, level), []);
});

test("exact also finds another order of objects", () => {
  const turned = golden((tracks, frame) => (frame === 3 ? tracks.toReversed() : tracks));
  assert.deepEqual(said(GOLDEN, turned, "exact"), ["frame 3: the line differs"]);
  assert.deepEqual(said(GOLDEN, turned, "same"), []);
});

test("exact sees the order of messages", () => {
  const [first, second, ...rest] = GOLDEN.said;
  assert.ok(first && second);
  const turned = { ...GOLDEN, said: [second, first, ...rest] };
  assert.equal(said(GOLDEN, turned, "exact").length, 2);
});

test("reports repeated messages", () => {
  const twice = { ...GOLDEN, said: GOLDEN.said.flatMap((one) => [one, one]) };
  for (const level of Object.keys(LEVELS) as Level[])
    assert.equal(said(GOLDEN, twice, level).filter((line) => /is new/.test(line)).length, 30);
});

test("a change that all objects share is in the report when no frame is", () => {
  const fainter = golden((tracks) => tracks.map((one) => ({ ...one, confidence: 76 })));
  const lines = reportComparison(compareGoldens(GOLDEN, fainter, "other"), (_, text) => text);
  assert.deepEqual(lines, [
    "detections: first difference: over 60 objects, on average: confidence -4.0 points",
    "detections: 0 of 30 frames differ individually",
    "  over 60 objects, on average: confidence -4.0 points",
  ]);
});

describeTests("the events of alert rules", () => {
  const event = (timeMs: number, change: JsonRecord = {}): JsonRecord => ({
    ...{ alert: "gate", type: "flow-control", event: "triggered", timeMs, tracks: [track(1, 10)], data: { total: 1 } },
    ...change,
  });
  const withEvents = (...events: readonly JsonRecord[]): Golden => ({
    header: header(),
    said: events.map((message) => ({ node: "alerts", channel: "alerts", message })),
  });
  const was = withEvents(event(1000), event(3000, { event: "cleared" }));

  test("are compared as they are on the same kind of machine", () => {
    const later = withEvents(event(1040), event(3000, { event: "cleared" }));
    assert.deepEqual(said(was, later, "same"), ["frame 1: timeMs is 1040, was 1000"]);
  });

  test("happen in the same order and at about the same time on another one", () => {
    const moved = event(1200, { tracks: [track(7, 12)], data: { total: 1, x: 0.2 } });
    assert.deepEqual(said(was, withEvents(moved, event(2900, { event: "cleared" })), "other"), []);
  });

  for (const [what, now, found] of [
    ["a missing one", [event(1000)], /"gate": the event cleared is missing/],
    ["another one", [event(1000), event(3000, { event: "updated" })], /the event is updated, was cleared/],
    ["a later one", [event(1600), event(3000, { event: "cleared" })], /triggered is at 1600 ms, was at 1000 ms/],
    ["fewer tracks", [event(1000, { tracks: [] }), event(3000, { event: "cleared" })], /has 0 tracks, had 1/],
    [
      "one of another rule",
      [event(1000), event(3000, { event: "cleared" }), event(9, { alert: "yard" })],
      /"yard": the event triggered is new/,
    ],
  ] as const)
    test(`report ${what}`, () => {
      const differences = said(was, withEvents(...now), "other");
      assert.equal(differences.length, 1);
      assert.match(differences[0] ?? "", found);
    });
});

test("computed values may differ by some percent on another kind of machine, and by no more", () => {
  const fast = (kmh: number) => golden((tracks) => tracks.map((one) => ({ ...one, values: { kmh } })));
  assert.deepEqual(said(fast(20), fast(20.5), "other"), []);
  assert.ok(said(fast(20), fast(22), "other").length > 0);
  assert.ok(said(fast(20), fast(20.5), "same").length > 0);
});
