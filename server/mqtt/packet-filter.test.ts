import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { PacketFilter } from "./packet-filter.ts";

/** A packet of this type with a body of that length. */
function packet(kind: number, bytes: number, filler = 7): Buffer {
  const length: number[] = [];
  let rest = bytes;
  do {
    length.push((rest % 128) + (rest >= 128 ? 128 : 0));
    rest = Math.floor(rest / 128);
  } while (rest > 0);
  return Buffer.concat([Buffer.from([kind, ...length]), Buffer.alloc(bytes, filler)]);
}

const PUBLISH = 0x30;
const RETAINED = 0x31;
const PINGRESP = 0xd0;

function filterAll(chunks: readonly Buffer[], maxPacketBytes: number) {
  const oversized: number[] = [];
  const packetFilter = new PacketFilter({ maxPacketBytes, onOversized: (bytes) => oversized.push(bytes) });
  return { kept: Buffer.concat(chunks.flatMap((chunk) => packetFilter.filter(chunk))), oversized };
}

function cut(whole: Buffer, places: readonly number[]): readonly Buffer[] {
  const ends = [...new Set(places.map((place) => place % (whole.length + 1)))].sort((a, b) => a - b);
  return [0, ...ends].map((from, at) => whole.subarray(from, ends[at] ?? whole.length));
}

test("passes short packets and drops long messages, wherever the network splits them", () => {
  const packets = fc.array(
    fc.record({
      kind: fc.constantFrom(PUBLISH, RETAINED),
      bytes: fc.oneof(fc.nat(300), fc.constantFrom(127, 128, 16_383, 16_384)),
      filler: fc.nat(255),
    }),
    { maxLength: 6 },
  );
  const property = fc.property(packets, fc.array(fc.nat(), { maxLength: 12 }), (parts, places) => {
    const all = parts.flatMap(({ kind, bytes, filler }) => [packet(kind, bytes, filler), packet(PINGRESP, 0)]);
    const expected = all.filter((each) => each.length <= 200 + 3);
    const { kept, oversized } = filterAll(cut(Buffer.concat(all), places), 200);
    assert.deepEqual(kept, Buffer.concat(expected));
    assert.deepEqual(
      oversized,
      parts.flatMap(({ bytes }) => (bytes > 200 ? [bytes] : [])),
    );
  });
  fc.assert(property, { numRuns: 300 });
});

test("rejects a long packet that is not a message, and data that is not MQTT", () => {
  assert.throws(() => filterAll([packet(0x20, 300)], 200), /not a message/);
  assert.throws(() => filterAll([Buffer.alloc(9, 0xff)], 200), /not MQTT/);
});

test("rejects a message with another QoS than 0, however short", () => {
  for (const kind of [0x32, 0x34, 0x3b, 0x3d, 0x36])
    for (const bytes of [10, 300]) assert.throws(() => filterAll([packet(kind, bytes)], 200), /quality of service/);
});
