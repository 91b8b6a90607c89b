import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Evaluator, Scene, Sighting } from "../alert-type.ts";
import { brief, evaluatorOf, faultsOf, placedAt, START_MS, sceneAt, seenAt } from "../scene.fixture.ts";

/** On the equator, where a degree of longitude has the same length as one of latitude. */
const DEGREE_M = 111_320;

/** A vehicle at metres to the east and north, driving with this speed and heading. */
function at(
  id: number,
  east: number,
  { north = 0, mps = 10 as number | null, heading = 90 as number | null } = {},
): Sighting {
  const { track, place } = placedAt(id, east / DEGREE_M, north / DEGREE_M, mps);
  assert.ok(place?.spot);
  return { track, place: { ...place, spot: { ...place.spot, heading } } };
}

const show = (evaluator: Evaluator, ms: number, sightings: readonly Sighting[], change: Partial<Scene> = {}) =>
  evaluator.see(sceneAt(ms, sightings, change));

const open = (parts = {}) =>
  evaluatorOf("convoy", { trigger: { count: 3, for_seconds: 2 }, parameters: { max_gap_m: 30 }, ...parts });

/** Three vehicles to the east, 20 and 25 metres apart; 3 is the head. */
const THREE = [at(1, 0), at(2, 20), at(3, 45)];

function formed(parts = {}): Evaluator {
  const evaluator = open(parts);
  show(evaluator, 0, THREE);
  assert.deepEqual(brief(show(evaluator, 2000, THREE)), ["triggered 3,2,1"]);
  return evaluator;
}

test("reports vehicles that have driven together for long enough, from the head to the end", () => {
  const evaluator = open();
  assert.deepEqual(show(evaluator, 0, THREE), []);
  assert.deepEqual(show(evaluator, 1999, THREE), []);
  const [event] = show(evaluator, 2000, THREE);
  assert.deepEqual(event?.data, {
    ...{ convoy: 1, since: new Date(START_MS + 2000).toISOString(), head: 3, members: [3, 2, 1] },
    ...{ gaps_m: [25, 20], length_m: 45, speed_mps: 10 },
  });
  assert.deepEqual(show(evaluator, 2100, THREE), []);
});

for (const [words, others] of [
  ["too few", [at(2, 20)]],
  ["too far apart", [at(2, 20), at(3, 51)]],
  ["oncoming", [at(2, 20), at(3, 45, { heading: 270 })]],
  ["parked", [at(2, 20), at(3, 45, { mps: 0, heading: null })]],
  ["much faster", [at(2, 20), at(3, 45, { mps: 16 })]],
  ["of unknown speed", [at(2, 20), at(3, 45, { mps: null, heading: null })]],
  ["not geolocated", [at(2, 20), seenAt(3, 0.5, 0.5)]],
] as const)
  test(`vehicles that are ${words} are not a convoy`, () => {
    const evaluator = open();
    for (let ms = 0; ms <= 6000; ms += 500) assert.deepEqual(show(evaluator, ms, [at(1, 0), ...others]), []);
  });

test("a vehicle that falls behind has left, and one that comes near has joined", () => {
  const evaluator = formed();
  const behind = [at(1, -20), at(2, 20), at(3, 45), at(4, 70)];
  assert.deepEqual(show(evaluator, 2500, behind), []);
  const [event] = show(evaluator, 4500, behind);
  assert.equal(event?.event, "updated");
  assert.deepEqual(event.data.members, [4, 3, 2]);
  assert.deepEqual([event.data.left, event.data.joined, event.data.split], [[1], [4], []]);
});

test("a gap that closes in time changes nothing", () => {
  const evaluator = formed();
  assert.deepEqual(show(evaluator, 2500, [at(1, -20), at(2, 20), at(3, 45)]), []);
  assert.deepEqual(show(evaluator, 4000, THREE), []);
  assert.deepEqual(show(evaluator, 5000, [at(1, -20), at(2, 20), at(3, 45)]), []);
});

test("several vehicles that stay behind together are a split, and a new convoy if there are enough", () => {
  const seven = [0, 20, 40, 60, 80, 100, 120].map((east, i) => at(i + 1, east));
  const evaluator = open();
  show(evaluator, 0, seven);
  show(evaluator, 2000, seven);
  const parted = seven.map((_, i) => at(i + 1, i * 20 + (i > 2 ? 40 : 0)));
  show(evaluator, 3000, parted);
  const [split, ...more] = show(evaluator, 5000, parted);
  assert.deepEqual(split?.data.split, [[3, 2, 1]]);
  assert.deepEqual(split?.data.members, [7, 6, 5, 4]);
  assert.deepEqual(more, []);
  const second = show(evaluator, 7000, parted).find(({ event }) => event === "triggered");
  assert.deepEqual([second?.data.convoy, second?.data.members], [2, [3, 2, 1]]);
});

test("the larger of two convoys that meet absorbs the other one", () => {
  const evaluator = open();
  const apart = [0, 20, 40, 60, 200, 220, 240].map((east, i) => at(i + 1, east));
  show(evaluator, 0, apart);
  assert.deepEqual(brief(show(evaluator, 2000, apart)), ["triggered 4,3,2,1", "triggered 7,6,5"]);
  const met = [0, 20, 40, 60, 80, 100, 120].map((east, i) => at(i + 1, east));
  show(evaluator, 3000, met);
  const events = show(evaluator, 5000, met);
  assert.deepEqual(brief(events), ["updated 7,6,5,4,3,2,1", "cleared 7,6,5"]);
  assert.equal(events[1]?.data.reason, "merged");
});

test("stops and stays a convoy, with its head", () => {
  const evaluator = formed({ parameters: { max_gap_m: 30, interval_seconds: 5 } });
  const stopped = [
    at(1, 100, { mps: 0, heading: null }),
    at(2, 120, { mps: 0, heading: null }),
    at(3, 140, { mps: 0, heading: null }),
  ];
  const events = [3000, 5000, 7000].map((ms) => brief(show(evaluator, ms, stopped)));
  assert.deepEqual(events, [[], [], ["updated 3,2,1"]]);
});

test("a vehicle that is not detected for long enough has left, and the convoy ends with the last but one", () => {
  const evaluator = formed();
  assert.deepEqual(show(evaluator, 4900, [at(2, 20), at(3, 45)]), []);
  assert.deepEqual(show(evaluator, 5100, [at(2, 20), at(3, 45)])[0]?.data.left, [1]);
  const [end] = show(evaluator, 5200, [at(3, 45)], { ended: [2] });
  assert.deepEqual([end?.event, end?.data.reason, end?.data.left], ["cleared", "not_seen", [2]]);
});

test("a stream that jumps ends the convoy", () => {
  const evaluator = formed();
  evaluator.forget();
  const [end] = show(evaluator, 9000, []);
  assert.deepEqual([end?.event, end?.data.reason], ["cleared", "stream_jumped"]);
});

test("follows vehicles across the date line", () => {
  const evaluator = open();
  const across = [179.9999, -179.9999, -179.9997].map((longitude, i) => {
    const { track, place } = at(i + 1, 0);
    return { track, place: place && { ...place, spot: place.spot && { ...place.spot, longitude } } };
  });
  show(evaluator, 0, across);
  assert.deepEqual(brief(show(evaluator, 2000, across)), ["triggered 3,2,1"]);
});

test("a gap of 0 is rejected with the expected value", () => {
  assert.match(faultsOf("convoy", { parameters: { max_gap_m: 0 } }).join(), /^\/parameters\/max_gap_m is 0; expected /);
});

test("for any positions: a vehicle is in one convoy, and convoys have two vehicles or more until they are cleared", () => {
  const step = fc.record({
    ms: fc.integer({ min: 100, max: 1500 }),
    seen: fc.uniqueArray(fc.record({ id: fc.integer({ min: 1, max: 9 }), east: fc.integer({ min: 0, max: 200 }) }), {
      selector: ({ id }) => id,
      maxLength: 9,
    }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
      const evaluator = open({ trigger: { count: 2, for_seconds: 1 } });
      const convoys = new Map<unknown, readonly number[]>();
      let nowMs = 0;
      for (const { ms, seen } of steps) {
        nowMs += ms;
        for (const { event, data } of show(
          evaluator,
          nowMs,
          seen.map(({ id, east }) => at(id, east)),
        )) {
          assert.equal(convoys.has(data.convoy), event !== "triggered");
          if (event === "cleared") convoys.delete(data.convoy);
          else convoys.set(data.convoy, data.members as readonly number[]);
        }
        for (const members of convoys.values()) assert.ok(members.length >= 2);
        const all = [...convoys.values()].flat();
        assert.equal(new Set(all).size, all.length);
      }
    }),
    { numRuns: 150 },
  );
});
