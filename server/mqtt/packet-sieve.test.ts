import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { PacketSieve } from "./packet-sieve.ts";

/** A packet of that kind whose body is so long. */
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
const PING_ANSWER = 0xd0;

function sift(chunks: readonly Buffer[], mostBytes: number) {
  const leftOut: number[] = [];
  const sieve = new PacketSieve({ mostBytes, onLeftOut: (bytes) => leftOut.push(bytes) });
  return { kept: Buffer.concat(chunks.flatMap((chunk) => sieve.sift(chunk))), leftOut };
}

function cut(whole: Buffer, places: readonly number[]): readonly Buffer[] {
  const ends = [...new Set(places.map((place) => place % (whole.length + 1)))].sort((a, b) => a - b);
  return [0, ...ends].map((from, at) => whole.subarray(from, ends[at] ?? whole.length));
}

test("keeps what is short and leaves out what is long, wherever the network cuts it", () => {
  const packets = fc.array(
    fc.record({
      kind: fc.constantFrom(PUBLISH, RETAINED),
      bytes: fc.oneof(fc.nat(300), fc.constantFrom(127, 128, 16_383, 16_384)),
      filler: fc.nat(255),
    }),
    { maxLength: 6 },
  );
  const property = fc.property(packets, fc.array(fc.nat(), { maxLength: 12 }), (parts, places) => {
    const all = parts.flatMap(({ kind, bytes, filler }) => [packet(kind, bytes, filler), packet(PING_ANSWER, 0)]);
    const expected = all.filter((each) => each.length <= 200 + 3);
    const { kept, leftOut } = sift(cut(Buffer.concat(all), places), 200);
    assert.deepEqual(kept, Buffer.concat(expected));
    assert.deepEqual(
      leftOut,
      parts.flatMap(({ bytes }) => (bytes > 200 ? [bytes] : [])),
    );
  });
  fc.assert(property, { numRuns: 300 });
});

test("a long packet that is no message, and what is no packet at all, ends it", () => {
  assert.throws(() => sift([packet(0x20, 300)], 200), /no message/);
  assert.throws(() => sift([Buffer.alloc(9, 0xff)], 200), /not MQTT/);
});

test("a message of another quality than 0 ends it, however short: it would be kept until the broker confirms it", () => {
  for (const kind of [0x32, 0x34, 0x3b, 0x3d, 0x36])
    for (const bytes of [10, 300]) assert.throws(() => sift([packet(kind, bytes)], 200), /quality of service/);
});
