import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  MOST_LISTED,
  NewTracksNotification,
  TargetCountNotification,
  type WebhookNotification,
} from "../../schemas/api/webhooks.ts";
import { checkBy } from "../validation.ts";
import { entryOf, messageOf, PROCESS } from "./collectors.fixture.ts";
import {
  MIN_COUNT_MS,
  NewTracksCollector,
  NOTHING_SENT,
  type NotificationRule,
  ReplayedSubscription,
  SeenIds,
  TargetCountCollector,
  type TimedNotification,
} from "./collectors.ts";

const rule = (change: Partial<NotificationRule> = {}): NotificationRule => ({
  ...{ eventType: "new-tracks", format: "simple", backoffMs: 5000 },
  ...change,
});

interface Frame {
  readonly timeMs: number;
  readonly ids: readonly number[];
}

/** Frames at any distance, each with any of the latest tracks: ids appear late, vanish and return. */
const frames: fc.Arbitrary<readonly Frame[]> = fc
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

function replay(all: readonly Frame[], change: Partial<NotificationRule>): readonly TimedNotification[] {
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

test("sends every new track once, in the order of appearance, for any frames and interval", () => {
  fc.assert(
    fc.property(frames, backoffs, fc.constantFrom("simple" as const, "full" as const), (all, backoffMs, format) => {
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

test("keeps the interval between notifications, except for the last of a process; sends the first at once", () => {
  fc.assert(
    fc.property(
      frames,
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

test("sends counts as a chain of changes from 0 to the last count, for any frames and interval", () => {
  fc.assert(
    fc.property(frames, backoffs, (all, backoffMs) => {
      const sent = replay(all, { backoffMs, eventType: "target-count", format: "full" });
      let sentCount = 0;
      for (const { body } of sent) {
        assert.deepEqual(checkTargetCount(body), []);
        assert.ok(body.type === "target-count");
        assert.equal(body.previous_count, sentCount);
        assert.notEqual(body.track_count, sentCount);
        assert.equal(body.active_tracks?.length, body.track_count);
        sentCount = body.track_count;
      }
      assert.equal(sentCount, all.at(-1)?.ids.length ?? 0);
    }),
  );
});

test("collects new tracks of an interval into one notification, each as it first appeared", () => {
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

test("does not send a count that was reverted within the interval", () => {
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
  const counts = sent.map(({ timeMs, body }) => [
    timeMs,
    body.track_count,
    "previous_count" in body && body.previous_count,
  ]);
  assert.deepEqual(counts, [
    [0, 2, 0],
    [20_000, 1, 2],
    [25_000, 3, 1],
  ]);
});

test("limits counts that change with every frame, even without an interval", () => {
  const all = Array.from({ length: 100 }, (_, i) => ({ timeMs: i * 40, ids: i % 2 === 0 ? [1] : [1, 2] }));
  const sent = replay(all, { eventType: "target-count", backoffMs: 0 });
  for (const gapMs of gaps(sent.slice(0, -1))) assert.ok(gapMs >= MIN_COUNT_MS);
});

test("counts untracked objects, and never sends them as new", () => {
  const all = [{ timeMs: 0, ids: [0] }];
  assert.deepEqual(replay(all, {}), []);
  assert.equal(replay(all, { eventType: "target-count" })[0]?.body.track_count, 1);
});

test("lists tracks up to the limit and counts all", () => {
  const crowd = Array.from({ length: MOST_LISTED + 200 }, (_, i) => i + 1);
  for (const eventType of ["new-tracks", "target-count"] as const) {
    const [only] = replay([{ timeMs: 0, ids: crowd }], { eventType, format: "full" });
    assert.equal(only?.body.track_count, MOST_LISTED + 200);
    const check = eventType === "new-tracks" ? checkNewTracks : checkTargetCount;
    assert.deepEqual(check(only?.body), []);
  }
});

test("does not repeat what was sent before: ids, count and interval continue", () => {
  const before = { nextMs: 3000, lastTrackId: 7, count: 2 };
  const tracks = new NewTracksCollector(rule(), before);
  tracks.see(messageOf([6, 7, 8]), 1000);
  assert.deepEqual([tracks.dueMs, tracks.peek()?.detections.map(({ id }) => id)], [3000, [8]]);
  const targets = new TargetCountCollector(rule({ eventType: "target-count" }), before);
  targets.see(messageOf([8, 9]), 1000);
  assert.equal(targets.dueMs, null);
  targets.see(messageOf([8]), 1000);
  assert.equal(targets.dueMs, 3000);
});

test("sends the rest an interval later when a part was sent", () => {
  const collector = new NewTracksCollector(rule(), NOTHING_SENT);
  collector.see(messageOf([1, 2, 3]), 0);
  collector.drop(2, 0);
  assert.deepEqual([collector.dueMs, collector.peek()?.detections.map(({ id }) => id)], [5000, [3]]);
});

test("waits at most two intervals after the clock was set back", () => {
  for (const eventType of ["new-tracks", "target-count"] as const) {
    const hourMs = 3_600_000;
    const Collector = eventType === "new-tracks" ? NewTracksCollector : TargetCountCollector;
    const collector = new Collector(rule({ eventType }), { ...NOTHING_SENT, nextMs: hourMs });
    collector.see(messageOf([1]), hourMs - 1);
    collector.see(messageOf([1, 2]), 0);
    assert.equal(collector.dueMs, 10_000);
  }
});

test("remembers ids within bounds, whatever jumps they make", () => {
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
