import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { geoidHeightM } from "../../terrain/geoid.ts";
import { anyCharacter } from "../../test/any-character.fixture.ts";
import { MAX_EVENT_BYTES, type Sighting, typeOf, writeEvent } from "./event.ts";
import { checkEvent } from "./event-schema.fixture.ts";
import { find, parseEvents } from "./parse-event.fixture.ts";

const UUID = "0b1c9f3e-1111-4222-8333-444455556666";
const TIMES = { timeMs: 1_700_000_000_123, staleMs: 1_700_000_015_123 };
const sighting = (change: Partial<Sighting> = {}): Sighting => ({
  ...{ processUuid: UUID, id: 12, className: "car", confidence: 0.876 },
  spot: { latitude: 41.40338, longitude: -2.17403, altitude: 31.26, errorM: 4.21, speedMps: 13.889, heading: 271.26 },
  ...change,
});

test("an event has the fields that Cursor on Target requires", () => {
  const [event] = parseEvents([writeEvent(sighting(), TIMES, "u")]);
  assert.ok(event);
  checkEvent(event);
  assert.deepEqual(event.attributes, {
    version: "2.0",
    uid: `windhover.${UUID}.12`,
    type: "a-u-G-E-V",
    how: "m-a",
    time: "2023-11-14T22:13:20.123Z",
    start: "2023-11-14T22:13:20.123Z",
    stale: "2023-11-14T22:13:35.123Z",
  });
  assert.deepEqual(find(event, "point")?.attributes, {
    lat: "41.4033800",
    lon: "-2.1740300",
    hae: (31.26 + geoidHeightM(41.40338, -2.17403)).toFixed(1),
    ce: "4.2",
    le: "9999999.0",
  });
  assert.deepEqual(find(event, "contact")?.attributes, { callsign: "car 12" });
  assert.deepEqual(find(event, "track")?.attributes, { course: "271.3", speed: "13.89" });
  assert.equal(find(event, "remarks")?.text, "88 % sure, 31.3 m above sea level, by video");
});

test("an object that stands still, or of unknown motion, has no course", () => {
  const { spot } = sighting();
  const still = [
    { ...spot, heading: null },
    { ...spot, speedMps: null, heading: null },
  ].map((spot) => writeEvent(sighting({ spot }), TIMES, "u"));
  assert.deepEqual(
    parseEvents(still).map((event) => find(event, "track")),
    [null, null],
  );
});

test("an event is valid XML and fits into a datagram, for any class name and position", () => {
  const texts: string[] = [];
  const names: string[] = [];
  const odd = fc.constantFrom('"', "&", "<", "\u0000", "\uffff", "\ud800", "😀", "é", "]]>");
  const name = fc.oneof(fc.string({ unit: anyCharacter, maxLength: 90 }), fc.string({ unit: odd, maxLength: 90 }));
  const number = (min: number, max: number) => fc.double({ min, max, noNaN: true });
  const spot = fc.record({
    ...{ latitude: number(-90, 90), longitude: number(-180, 180), altitude: number(-1e4, 1e5), errorM: number(0, 1e7) },
    ...{ speedMps: number(0, 1e4), heading: number(0, 359.999) },
  });
  fc.assert(
    fc.property(name, spot, fc.maxSafeNat(), (className, spot, id) => {
      const text = writeEvent(sighting({ className, spot, id }), TIMES, "h");
      assert.ok(Buffer.byteLength(text) <= MAX_EVENT_BYTES, `${Buffer.byteLength(text)} bytes`);
      texts.push(Buffer.from(text).toString());
      names.push(`windhover.${UUID}.${id}`);
    }),
    { numRuns: 100 },
  );
  const events = parseEvents(texts);
  assert.deepEqual(
    events.map(({ attributes }) => attributes.uid),
    names,
  );
  for (const event of events) {
    assert.equal(event.children.length, 2);
    assert.deepEqual(Object.keys(find(event, "contact")?.attributes ?? {}), ["callsign"]);
    for (const value of Object.values(find(event, "point")?.attributes ?? {})) assert.match(value, /^-?\d+\.\d+$/);
  }
});

test("a class name survives the round trip through XML", () => {
  const className = `<b> "Tom" & 'Jerry' é`;
  const [event] = parseEvents([writeEvent(sighting({ className }), TIMES, "u")]);
  assert.equal(find(event, "contact")?.attributes.callsign, `${className} 12`);
});

test("chooses the map symbol by class: ground, vehicle, boat", () => {
  const expected = {
    person: "a-u-G",
    Truck: "a-u-G-E-V",
    boat: "a-u-S",
    " small  vehicle": "a-u-G-E-V",
    "fire hydrant": "a-u-G",
  };
  for (const [name, type] of Object.entries(expected)) assert.equal(typeOf(name, "u"), type);
  assert.equal(typeOf("small-vehicle", "h"), "a-h-G-E-V");
});
