import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Sighting } from "./mot-tracker.ts";
import { DEFAULT_SETTINGS, type TrackerSettings } from "./settings.ts";
import { Tracker, type TrackerFrame } from "./tracker.ts";

type Walk = (seconds: number) => Sighting | null;

const see = (x: number, y: number, more: Partial<Sighting> = {}): Sighting => ({
  box: [x, y, 40, 100],
  confidence: 0.9,
  classId: 0,
  ...more,
});

/** `speed` in pixels per second; sightings jitter slightly, deterministically. */
const walk =
  (x: number, y: number, speed: number, more: Partial<Sighting> = {}): Walk =>
  (seconds) =>
    see(x + speed * seconds + Math.sin(seconds * 91 + x), y + Math.cos(seconds * 67 + y), more);

const hidden =
  (one: Walk, fromS: number, toS: number): Walk =>
  (seconds) =>
    seconds >= fromS && seconds < toS ? null : one(seconds);

const countFrom = (first: number) => {
  let next = first;
  return (): number => next++;
};

const create = (settings: Partial<TrackerSettings> = {}, firstId = 1): Tracker =>
  new Tracker({ ...DEFAULT_SETTINGS, ...settings }, countFrom(firstId));

const STILL = { a: 1, b: 0, right: 0, down: 0 };

const toNs = (seconds: number): bigint => BigInt(Math.round(seconds * 1e9));

function run(walks: readonly Walk[], durationS: number, fps: number, tracker = create()): readonly TrackerFrame[] {
  return Array.from({ length: Math.round(durationS * fps) }, (_, i) => {
    const sightings = walks.map((one) => one(i / fps)).filter((one) => one !== null);
    return tracker.update(toNs(i / fps), sightings);
  });
}

const listIds = (frames: readonly TrackerFrame[]): readonly number[] =>
  [...new Set(frames.flatMap(({ shown }) => shown.map(({ id }) => id)))].sort((a, b) => a - b);

/** The id of the track nearest to a position. */
const idAt = (frame: TrackerFrame | undefined, x: number): number | undefined =>
  frame?.shown.toSorted((a, b) => Math.abs(a.box[0] - x) - Math.abs(b.box[0] - x))[0]?.id;

test("keeps the id through a 10-frame occlusion", () => {
  const frames = run([hidden(walk(0, 50, 80), 1, 1.4)], 3, 25);
  assert.deepEqual(listIds(frames), [1]);
  assert.equal(frames.at(-1)?.shown[0]?.predicted, false);
});

test("keeps the id of a person who passes behind another", () => {
  const frames = run([walk(300, 50, 0), hidden(walk(0, 50, 150), 1.7, 2.3)], 4, 25);
  assert.deepEqual(listIds(frames), [1, 2]);
  assert.equal(idAt(frames[0], 300), idAt(frames.at(-1), 300));
});

/** Someone passes every half second and is visible for 1.5 s. */
const crowd = Array.from({ length: 40 }, (_, i): Walk => {
  const passing = walk(600, 200 + (i % 4) * 150, 120);
  return (seconds) => (seconds >= i / 2 && seconds < i / 2 + 1.5 ? passing(seconds - i / 2) : null);
});

for (const [scene, others, ids] of [
  ["keeps the id of a person hidden for a second where people stay", [], 1],
  ["gives a new id after a second where people come and go: it is likelier someone else", crowd, 2],
] as const)
  test(scene, () => {
    const frames = run([hidden(walk(100, 50, 0), 20, 21), ...others], 22, 10);
    const here = frames.flatMap(({ shown }) => shown.filter(({ box }) => box[0] < 200 && box[1] < 100));
    assert.equal(new Set(here.map(({ id }) => id)).size, ids);
  });

test("keeps the ids of two people who cross", () => {
  const frames = run([walk(0, 50, 100), walk(400, 60, -100)], 4, 25);
  assert.deepEqual(listIds(frames), [1, 2]);
  assert.equal(idAt(frames[0], 0), idAt(frames.at(-1), 400));
});

for (const fps of [30, 15, 7])
  test(`keeps the same ids at ${fps} fps`, () => {
    const walks = [walk(0, 50, 90), walk(500, 60, -90), hidden(walk(100, 300, 60), 1, 1.5)];
    assert.deepEqual(listIds(run(walks, 4, fps)), [1, 2, 3]);
  });

test("keeps the ids with irregular frame times", () => {
  const tracker = create();
  const steps = [40, 33, 120, 10, 300, 40, 90, 250, 16, 33, 200, 70];
  let ms = 0;
  const frames = steps.map((step) => {
    ms += step;
    return tracker.update(toNs(ms / 1000), [walk(0, 50, 100)(ms / 1000), walk(600, 50, -100)(ms / 1000)] as Sighting[]);
  });
  assert.deepEqual(listIds(frames), [1, 2]);
});

test("keeps the ids under a panning camera", () => {
  const pan = (seconds: number): number => 160 * Math.sin(seconds * 3);
  const walks = [0, 150, 320, 480].map(
    (x): Walk =>
      (seconds) =>
        walk(x + pan(seconds), 50 + (x % 70), 20)(seconds),
  );
  assert.deepEqual(listIds(run(walks, 4, 15)), [1, 2, 3, 4]);
});

test("keeps the ids after a camera jolt on a frame without inference, also if the next frame has camera motion", () => {
  const tracker = create();
  const people = (shift: number) => [0, 150, 330, 480].map((x) => see(x + shift, 50 + (x % 70)));
  for (let i = 0; i < 10; i++) tracker.update(toNs(i / 10), people(0), STILL);
  tracker.predict(toNs(0.95), null);
  assert.deepEqual(listIds([tracker.update(toNs(1), people(90), STILL)]), [1, 2, 3, 4]);
});

test("the class shown does not flicker with the detector", () => {
  const walks: Walk[] = [
    (seconds) => walk(0, 50, 50, { classId: Math.round(seconds * 25) % 3 === 2 ? 7 : 2 })(seconds),
  ];
  const frames = run(walks, 3, 25);
  assert.deepEqual(listIds(frames), [1]);
  assert.deepEqual([...new Set(frames.flatMap(({ shown }) => shown.map(({ classId }) => classId)))], [2]);
});

test("a gap longer than the life of tracks ends all, and objects get new ids at once", () => {
  const tracker = create({ maxAgeS: 1 });
  run([walk(0, 50, 0)], 1, 10, tracker);
  const { shown, ended } = tracker.update(toNs(5), [see(0, 50)]);
  assert.deepEqual(ended, [1]);
  assert.deepEqual(
    shown.map(({ id }) => id),
    [2],
  );
});

for (const intervalS of [1, 2.5, 6])
  test(`keeps the ids with inferences ${intervalS} s apart for any life of tracks, and shows new objects at once`, () => {
    const tracker = create({ maxAgeS: 1 });
    const walks = [walk(0, 50, 6), walk(300, 60, -5), hidden(walk(600, 40, 3), 0, 5.5 * intervalS)];
    const frames = Array.from({ length: 80 }, (_, i) => {
      const seconds = (i / 8) * intervalS;
      const sightings = walks.map((one) => one(seconds)).filter((one) => one !== null);
      return i % 8 === 0 ? tracker.update(toNs(seconds), sightings) : tracker.predict(toNs(seconds));
    });
    assert.deepEqual(
      frames.filter((_, i) => i % 8 === 0).map(({ shown }) => shown.length),
      [2, 2, 2, 2, 2, 2, 3, 3, 3, 3],
    );
    assert.deepEqual(listIds(frames), [1, 2, 3]);
    const { ended } = tracker.update(toNs(9 * intervalS + Math.min(10 * intervalS, 61)), []);
    assert.deepEqual(ended, [1, 2, 3], "a gap is a gap");
  });

test("a first gap longer than the maximum life ends all tracks before the pace is known", () => {
  const tracker = create();
  tracker.update(0n, [see(0, 50)]);
  assert.deepEqual(tracker.update(toNs(61), [see(0, 50)]).ended, [1]);
});

test("a single gap in a dense stream does not extend the life of tracks", () => {
  const tracker = create({ maxAgeS: 1 });
  run([walk(0, 50, 0)], 1, 10, tracker);
  for (const seconds of [31, 31.1, 31.2]) tracker.update(toNs(seconds), [see(0, 50)]);
  assert.deepEqual(tracker.update(toNs(32.4), [see(0, 50)]).ended, [2]);
});

for (const lateS of [1.5, 3.5, 7.5])
  test(`keeps the ids of people who walk on while nothing is inferred for ${lateS} s`, () => {
    const walks = [walk(0, 50, 40), walk(700, 60, -30), walk(300, 250, 5)];
    const tracker = create();
    run(walks, 3, 5, tracker);
    const [fromS, toS] = [2.8, 2.8 + lateS];
    for (let at = fromS + 0.1; at < toS; at += 0.1) tracker.predict(toNs(at));
    const back = [0, 0.2, 0.4].map((more) => {
      const sightings = walks.map((one) => one(toS + more)).filter((one) => one !== null);
      return tracker.update(toNs(toS + more), sightings);
    });
    assert.deepEqual(listIds(back), [1, 2, 3]);
  });

test("ends all tracks when nothing is inferred for much longer than they live", () => {
  const tracker = create();
  run([walk(0, 50, 0)], 3, 5, tracker);
  const ended = Array.from({ length: 100 }, (_, i) => tracker.predict(toNs(2.9 + i / 10)).ended).flat();
  assert.deepEqual(ended, [1]);
});

test("lists an ended id once", () => {
  const frames = run([hidden(walk(0, 50, 0), 1, 9)], 9, 10, create({ maxAgeS: 2 }));
  const ends = frames.flatMap(({ ended }, i) => ended.map((id) => [id, i / 10]));
  assert.deepEqual(ends, [[1, 3]]);
});

test("a step back in time ends all tracks", () => {
  const tracker = create();
  run([walk(0, 50, 0)], 1, 10, tracker);
  assert.deepEqual(tracker.update(0n, []).ended, [1]);
});

test("an hour of empty frames leaves no state", () => {
  const tracker = create();
  run([walk(0, 50, 0)], 1, 10, tracker);
  const later = Array.from({ length: 3600 }, (_, i) => tracker.update(toNs(1 + i), []));
  assert.deepEqual(
    later.flatMap(({ ended }) => ended),
    [1],
  );
  assert.deepEqual(listIds(later.slice(3)), []);
});

test("does not show an object seen once, after the first frame", () => {
  const tracker = create();
  tracker.update(0n, [see(0, 50)]);
  assert.deepEqual(listIds([tracker.update(toNs(0.1), [see(0, 50), see(300, 50)])]), [1]);
  assert.deepEqual(listIds([tracker.update(toNs(0.2), [see(0, 50)])]), [1]);
});

test("shows an object seen twice, with the next id", () => {
  const tracker = create();
  tracker.update(0n, [see(0, 50)]);
  tracker.update(toNs(0.1), [see(0, 50), see(300, 50)]);
  assert.deepEqual(listIds([tracker.update(toNs(0.2), [see(0, 50), see(300, 50)])]), [1, 2]);
});

test("a weak sighting starts no track, but continues one", () => {
  const tracker = create({ confidence: 0.5 });
  assert.deepEqual(tracker.update(0n, [see(0, 50, { confidence: 0.3 })]).shown, []);
  for (let i = 1; i < 5; i++) tracker.update(toNs(i / 10), [see(0, 50, { confidence: 0.6 })]);
  const [held] = tracker.update(toNs(0.5), [see(0, 50, { confidence: 0.3 })]).shown;
  assert.deepEqual([held?.id, held?.predicted, held?.confidence], [1, false, 0.3]);
});

test("a track with only weak sightings is soon hidden, and keeps its id for the next sure one", () => {
  const confidence = (seconds: number): number => (seconds < 1 || seconds >= 2.5 ? 0.8 : 0.15);
  const walks: Walk[] = [(seconds) => walk(0, 50, 0, { confidence: confidence(seconds) })(seconds)];
  const frames = run(walks, 3, 20, create({ confidence: 0.4 }));
  assert.deepEqual(listIds(frames), [1]);
  const hiddenS = frames.flatMap(({ shown }, i) => (shown.length === 0 ? [i / 20] : []));
  assert.deepEqual([hiddenS[0], hiddenS.at(-1)], [1.5, 2.45]);
});

test("weak sightings alone do not keep a track alive for ever", () => {
  const walks: Walk[] = [(seconds) => walk(0, 50, 0, { confidence: seconds < 1 ? 0.8 : 0.15 })(seconds)];
  const ends = run(walks, 9, 10, create({ confidence: 0.4, maxAgeS: 1 })).findIndex(({ ended }) => ended.length > 0);
  assert.ok(ends > 20 && ends <= 30, `ended with frame ${ends}`);
});

test("a weak sighting within a visible person is not matched to an occluded one", () => {
  const front = walk(300, 50, 0, { box: [300, 50, 60, 150] });
  const behind: Walk = (seconds) =>
    seconds < 1 ? see(310, 60) : see(310, 60, { box: [310, 60, 38, 90], confidence: 0.2 });
  const frames = run([front, behind], 2, 20, create({ confidence: 0.4 }));
  assert.deepEqual(
    [19, 30].map((i) => frames[i]?.shown.length),
    [2, 1],
  );
});

test("a weak person in front of a bus continues its track", () => {
  const bus = (): Sighting => see(200, 20, { box: [200, 20, 300, 160], classId: 5 });
  const person: Walk = (seconds) => see(310, 60, { confidence: seconds < 1 ? 0.8 : 0.2 });
  assert.equal(run([bus, person], 1.4, 20, create({ confidence: 0.4 })).at(-1)?.shown.length, 2);
});

for (const confidences of [[0.81], [0.76, 0.75, 0.79], [0.81, 0.72, 0.77, 0.7]])
  test(`shows an object steadily seen with ${confidences} at a threshold of 0.75`, () => {
    const sign: Walk = (seconds) =>
      seconds < 0.5
        ? null
        : walk(80, 50, 0, { classId: 11, confidence: confidences[Math.round(seconds * 25) % confidences.length] ?? 0 })(
            seconds,
          );
    const frames = run([walk(300, 50, 30), sign], 4, 25, create({ confidence: 0.75 }));
    assert.deepEqual(
      frames.slice(20).filter(({ shown }) => !shown.some(({ classId }) => classId === 11)),
      [],
    );
    assert.deepEqual(listIds(frames), [1, 2]);
  });

test("duplicate sightings give one track", () => {
  const double: Walk = (seconds) => walk(1, 51, 50, { classId: 7, confidence: 0.8 })(seconds);
  assert.deepEqual(listIds(run([walk(0, 50, 50), double], 2, 25)), [1]);
});

test("a shifted duplicate sighting gives no second track, sure or weak", () => {
  const second =
    (confidence: number): Walk =>
    (seconds) =>
      seconds < 1 ? null : walk(6, 54, 50, { confidence })(seconds);
  for (const confidence of [0.3, 0.85]) {
    const frames = run([walk(0, 50, 50), second(confidence)], 2, 25, create({ confidence: 0.4 }));
    assert.deepEqual(listIds(frames), [1]);
  }
});

test("predicts tracks between inferences and marks them", () => {
  const tracker = create();
  for (let i = 0; i <= 10; i++) tracker.update(toNs(i / 10), [see(i * 10, 50)]);
  const frames = [1.025, 1.05, 1.075].map((seconds) => tracker.predict(toNs(seconds)));
  for (const [i, { shown }] of frames.entries()) {
    assert.equal(shown[0]?.predicted, true);
    assert.ok(Math.abs((shown[0]?.box[0] ?? 0) - (100 + 2.5 * (i + 1))) < 1);
    assert.ok(Math.abs((shown[0]?.velocity[0] ?? 0) - 100) < 5);
  }
});

test("shows a missed object as predicted for a short time", () => {
  const frames = run([hidden(walk(0, 50, 50), 2, 9)], 4, 25, create({ showPredictedS: 0.2 }));
  const predicted = frames.flatMap(({ shown }, i) => (shown[0]?.predicted === true ? [i / 25] : []));
  assert.deepEqual(predicted, [2, 2.04, 2.08, 2.12, 2.16]);
});

test("a single miss does not hide a track if inferences are far apart, a second one does", () => {
  const tracker = create({ showPredictedS: 0.1 });
  for (let i = 0; i <= 10; i++) tracker.update(toNs(i * 0.2), [see(i * 10, 50)]);
  assert.equal(tracker.update(toNs(2.2), []).shown.length, 1);
  assert.equal(tracker.predict(toNs(2.36)).shown.length, 1);
  assert.equal(tracker.update(toNs(2.4), []).shown.length, 0);
});

test("tracks of a still image stay where they are, and grow older, for any time", () => {
  const tracker = create();
  for (let i = 0; i <= 10; i++) tracker.update(toNs(i / 10), [see(i * 10, 50)]);
  const [before] = tracker.update(toNs(1.1), [see(110, 50)]).shown;
  for (let seconds = 1.2; seconds < 30; seconds += 0.1) {
    const [held] = tracker.hold(toNs(seconds)).shown;
    assert.ok(before !== undefined && held !== undefined);
    assert.deepEqual([held.id, held.predicted], [before.id, true]);
    assert.ok(Math.abs(held.box[0] - before.box[0]) < 1);
    assert.ok(Math.abs(held.ageMs - seconds * 1000) < 1);
  }
  assert.deepEqual(listIds([tracker.update(toNs(30), [see(112, 50)])]), [before?.id]);
});

test("an object that leaves after a still time is missed as usual", () => {
  const tracker = create();
  for (let i = 0; i <= 10; i++) tracker.update(toNs(i / 10), [see(0, 50)]);
  tracker.hold(toNs(9));
  const frames = Array.from({ length: 30 }, (_, i) => tracker.update(toNs(9.1 + i / 10), []));
  assert.deepEqual(
    frames.flatMap(({ ended }) => ended),
    [1],
  );
  assert.equal(frames[5]?.shown.length, 0);
});

test("uses the given ids, also after a reset", () => {
  const tracker = create({}, 41);
  assert.deepEqual(listIds([tracker.update(0n, [see(0, 50), see(200, 50)])]), [41, 42]);
  tracker.reset();
  assert.deepEqual(listIds([tracker.update(toNs(9), [see(0, 50)])]), [43]);
});

test("ignores invalid boxes", () => {
  const bad = [
    see(0, 0, { box: [0, 0, 0, 10] }),
    see(0, 0, { box: [Number.NaN, 0, 10, 10] }),
    see(0, 0, { box: [0, 0, 10, -5] }),
  ];
  assert.deepEqual(create().update(0n, bad).shown, []);
});

test("keeps the ids of five hundred people side by side", () => {
  const walks = Array.from({ length: 500 }, (_, i) => walk((i % 25) * 60, Math.floor(i / 25) * 120, (i % 5) - 2));
  const frames = run(walks, 1, 10);
  assert.equal(listIds(frames).length, 500);
  assert.equal(frames.at(-1)?.shown.length, 500);
});

const anyFrames = fc.array(
  fc.array(
    fc.record({
      box: fc.tuple(
        fc.integer({ min: 0, max: 300 }),
        fc.integer({ min: 0, max: 200 }),
        fc.integer({ min: 10, max: 60 }),
        fc.integer({ min: 20, max: 120 }),
      ),
      confidence: fc.constantFrom(0.2, 0.5, 0.7, 0.9, 0.95),
      classId: fc.integer({ min: 0, max: 2 }),
    }),
    { maxLength: 8 },
  ),
  { minLength: 2, maxLength: 25 },
);

const feed = (frames: readonly (readonly Sighting[])[]): readonly TrackerFrame[] => {
  const tracker = create({ confidence: 0.6, maxAgeS: 0.5 });
  return frames.map((sightings, i) => tracker.update(toNs(i / 10), sightings));
};

test("does not depend on the order of sightings", () => {
  fc.assert(
    fc.property(anyFrames, (frames) => {
      assert.deepEqual(feed(frames.map((sightings) => sightings.toReversed())), feed(frames));
    }),
  );
});

test("ids are dense, unique per frame, and never reused", () => {
  fc.assert(
    fc.property(anyFrames, (frames) => {
      const given = feed(frames);
      const ended = new Set<number>();
      for (const frame of given) {
        for (const id of frame.ended) ended.add(id);
        const ids = frame.shown.map(({ id }) => id);
        assert.deepEqual(
          ids,
          [...new Set(ids)].sort((a, b) => a - b),
        );
        assert.ok(ids.every((id) => !ended.has(id)));
      }
      assert.deepEqual(
        listIds(given),
        listIds(given).map((_, i) => i + 1),
      );
    }),
  );
});
