import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  MOST_LISTED,
  NewTracksNotification,
  TargetCountNotification,
  type WebhookNotification,
} from "../../../schemas/api/webhooks.ts";
import { checkBy } from "../../validation.ts";
import { entryOf, messageOf, PROCESS } from "./gather.fixture.ts";
import { type GatherRule, NOTHING_TOLD } from "./gatherer.ts";
import { NewTracksGatherer } from "./new-tracks.ts";
import { ReplayedSubscription, type TimedNotification } from "./replayed-subscription.ts";
import { SeenIds } from "./seen-ids.ts";
import { LEAST_COUNT_MS, TargetCountGatherer } from "./target-count.ts";

const rule = (change: Partial<GatherRule> = {}): GatherRule => ({
  ...{ eventType: "new-tracks", format: "simple", backoffMs: 5000 },
  ...change,
});

interface Picture {
  readonly timeMs: number;
  readonly ids: readonly number[];
}

/** Pictures at any distance, each with any of the latest tracks: ids show up late, vanish and come back. */
const pictures: fc.Arbitrary<readonly Picture[]> = fc
  .array(
    fc.record({
      stepMs: fc.integer({ min: 0, max: 4000 }),
      born: fc.integer({ min: 0, max: 3 }),
      shown: fc.array(fc.integer({ min: 0, max: 7 }), { maxLength: 6 }),
    }),
    { maxLength: 60 },
  )
  .map((steps) => {
    let [timeMs, highest] = [0, 0];
    return steps.map(({ stepMs, born, shown }) => {
      timeMs += stepMs;
      highest += born;
      const ids = [...new Set(shown.map((back) => Math.max(0, highest - back)))];
      return { timeMs, ids };
    });
  });

const backoffs = fc.integer({ min: 0, max: 12_000 });

function replay(all: readonly Picture[], change: Partial<GatherRule>): readonly TimedNotification[] {
  const subscription = new ReplayedSubscription(rule(change));
  const sent = all.flatMap(({ timeMs, ids }) => subscription.see(messageOf(ids, timeMs), timeMs));
  return [...sent, ...subscription.end((all.at(-1)?.timeMs ?? 0) + 1)];
}

const gaps = (sent: readonly TimedNotification[]): readonly number[] =>
  sent.slice(1).map(({ timeMs }, at) => timeMs - (sent[at]?.timeMs ?? 0));

const idsOf = (body: WebhookNotification): readonly number[] =>
  body.type === "new-tracks" ? body.detections.map(({ id }) => id) : [];

const checkNewTracks = checkBy(NewTracksNotification);
const checkTargetCount = checkBy(TargetCountNotification);

test("every new track is told exactly once, in the order in which they were shown, for any pictures and interval", () => {
  fc.assert(
    fc.property(pictures, backoffs, fc.constantFrom("simple" as const, "full" as const), (all, backoffMs, format) => {
      const shown = [...new Set(all.flatMap(({ ids }) => ids))].filter((id) => id > 0);
      const sent = replay(all, { backoffMs, format });
      assert.deepEqual(
        sent.flatMap(({ body }) => idsOf(body)),
        shown,
      );
      for (const { body } of sent) {
        assert.deepEqual(checkNewTracks(body), []);
        assert.equal(body.track_count, idsOf(body).length);
      }
    }),
  );
});

test("two notifications are never nearer than the interval, but for the last of a process; the first comes at once", () => {
  fc.assert(
    fc.property(
      pictures,
      backoffs,
      fc.constantFrom("new-tracks" as const, "target-count" as const),
      (all, backoffMs, eventType) => {
        const sent = replay(all, { backoffMs, eventType });
        for (const gapMs of gaps(sent.slice(0, -1))) assert.ok(gapMs >= backoffMs, `${gapMs} ms`);
        const first = all.find(({ ids }) => ids.some((id) => eventType === "target-count" || id > 0));
        assert.equal(sent[0]?.timeMs, first?.timeMs);
      },
    ),
  );
});

test("counts tell a chain of changes that leads from 0 to the last picture's, for any pictures and interval", () => {
  fc.assert(
    fc.property(pictures, backoffs, (all, backoffMs) => {
      const sent = replay(all, { backoffMs, eventType: "target-count", format: "full" });
      let told = 0;
      for (const { body } of sent) {
        assert.deepEqual(checkTargetCount(body), []);
        assert.ok(body.type === "target-count");
        assert.equal(body.previous_count, told);
        assert.notEqual(body.track_count, told);
        assert.equal(body.active_tracks?.length, body.track_count);
        told = body.track_count;
      }
      assert.equal(told, all.at(-1)?.ids.length ?? 0);
    }),
  );
});

test("new tracks within the interval are gathered into one notification at its end, each as it was first shown", () => {
  const sent = replay(
    [
      { timeMs: 100, ids: [1] },
      { timeMs: 1000, ids: [1, 2] },
      { timeMs: 2000, ids: [3, 2] },
      { timeMs: 9000, ids: [] },
    ],
    { format: "full" },
  );
  assert.deepEqual(
    sent.map(({ timeMs }) => timeMs),
    [100, 5100],
  );
  assert.deepEqual(sent[1]?.body, {
    process_uuid: PROCESS,
    timestamp: "2026-11-15 12:00:02.0000",
    type: "new-tracks",
    track_count: 2,
    detections: [
      { topLeftX: 2, topLeftY: 20, height: 40.5, width: 30, id: 2, class: 2 },
      { topLeftX: 3, topLeftY: 20, height: 40.5, width: 30, id: 3, class: 2 },
    ],
    tracks: [entryOf(2), entryOf(3)],
  });
});

test("a count that went back within the interval is no change; the last one counts", () => {
  const sent = replay(
    [
      { timeMs: 0, ids: [1, 2] },
      { timeMs: 1000, ids: [1, 2, 3] },
      { timeMs: 2000, ids: [1, 2] },
      { timeMs: 20_000, ids: [1] },
      { timeMs: 21_000, ids: [] },
      { timeMs: 22_000, ids: [1, 4, 5] },
      { timeMs: 30_000, ids: [1, 4, 5] },
    ],
    { eventType: "target-count" },
  );
  const told = sent.map(({ timeMs, body }) => [
    timeMs,
    body.track_count,
    "previous_count" in body && body.previous_count,
  ]);
  assert.deepEqual(told, [
    [0, 2, 0],
    [20_000, 1, 2],
    [25_000, 3, 1],
  ]);
});

test("a count that changes with every picture is told a few times a second, even without an interval", () => {
  const all = Array.from({ length: 100 }, (_, i) => ({ timeMs: i * 40, ids: i % 2 === 0 ? [1] : [1, 2] }));
  const sent = replay(all, { eventType: "target-count", backoffMs: 0 });
  for (const gapMs of gaps(sent.slice(0, -1))) assert.ok(gapMs >= LEAST_COUNT_MS);
});

test("what is not tracked is counted, and never new", () => {
  const all = [{ timeMs: 0, ids: [0] }];
  assert.deepEqual(replay(all, {}), []);
  assert.equal(replay(all, { eventType: "target-count" })[0]?.body.track_count, 1);
});

test("so many are told one by one and all are counted", () => {
  const crowd = Array.from({ length: MOST_LISTED + 200 }, (_, i) => i + 1);
  for (const eventType of ["new-tracks", "target-count"] as const) {
    const [only] = replay([{ timeMs: 0, ids: crowd }], { eventType, format: "full" });
    assert.equal(only?.body.track_count, MOST_LISTED + 200);
    const check = eventType === "new-tracks" ? checkNewTracks : checkTargetCount;
    assert.deepEqual(check(only?.body), []);
  }
});

test("what was told before is not told again: ids, the count and the interval go on", () => {
  const before = { nextMs: 3000, lastTrackId: 7, count: 2 };
  const tracks = new NewTracksGatherer(rule(), before);
  tracks.see(messageOf([6, 7, 8]), 1000);
  assert.deepEqual([tracks.dueMs, tracks.peek()?.detections.map(({ id }) => id)], [3000, [8]]);
  const targets = new TargetCountGatherer(rule({ eventType: "target-count" }), before);
  targets.see(messageOf([8, 9]), 1000);
  assert.equal(targets.dueMs, null);
  targets.see(messageOf([8]), 1000);
  assert.equal(targets.dueMs, 3000);
});

test("of what was gathered a part may be on its way: the rest is told an interval later", () => {
  const gatherer = new NewTracksGatherer(rule(), NOTHING_TOLD);
  gatherer.see(messageOf([1, 2, 3]), 0);
  gatherer.drop(2, 0);
  assert.deepEqual([gatherer.dueMs, gatherer.peek()?.detections.map(({ id }) => id)], [5000, [3]]);
});

test("a clock that is set back silences nobody for longer than two intervals", () => {
  for (const eventType of ["new-tracks", "target-count"] as const) {
    const hourMs = 3_600_000;
    const Gatherer = eventType === "new-tracks" ? NewTracksGatherer : TargetCountGatherer;
    const gatherer = new Gatherer(rule({ eventType }), { ...NOTHING_TOLD, nextMs: hourMs });
    gatherer.see(messageOf([1]), hourMs - 1);
    gatherer.see(messageOf([1, 2]), 0);
    assert.equal(gatherer.dueMs, 10_000);
  }
});

test("ids are remembered within bounds, whatever jumps they make", () => {
  const seen = new SeenIds(0, 4);
  assert.deepEqual(
    [1_000_000_000, 999_999_999, 999_999_996, 999_999_995, 1_000_000_000, 999_999_999, 1_000_000_007].map((id) =>
      seen.add(id),
    ),
    [true, true, true, false, false, false, true],
  );
  assert.deepEqual(
    [1_000_000_002, 1_000_000_003, 999_999_998].map((id) => seen.add(id)),
    [false, true, false],
  );
});
