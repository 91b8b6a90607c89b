import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { BitWriter } from "./bit-writer.fixture.ts";
import { hasRecoveryPoint, isBidirectional } from "./slice.ts";

const slice = (type: number, firstBlock = 0): Uint8Array => new BitWriter().ue(firstBlock).ue(type).ue(0).nal(0x01);

test("B slices are told from others, both of their numbers", () => {
  assert.deepEqual(
    [0, 1, 2, 5, 6, 7].map((type) => isBidirectional(slice(type))),
    [false, true, false, false, true, false],
  );
  assert.equal(isBidirectional(slice(6, 3599)), true);
  assert.equal(isBidirectional(Uint8Array.from([0x01])), false);
});

test("a recovery point is found behind other messages", () => {
  const sei = (...bytes: number[]): Uint8Array => Uint8Array.from([0x06, ...bytes, 0x80]);
  assert.equal(hasRecoveryPoint(sei(6, 1, 0xc4)), true);
  assert.equal(hasRecoveryPoint(sei(5, 3, 6, 6, 6, 1, 1, 0x40)), false);
  assert.equal(hasRecoveryPoint(sei(5, 3, 6, 6, 6, 6, 1, 0xc4)), true);
  assert.equal(hasRecoveryPoint(sei(0xff, 6, 0)), false);
  assert.equal(hasRecoveryPoint(sei(5, 0xff, 2, ...Array<number>(257).fill(6), 6, 1, 0xc4)), true);
  assert.equal(hasRecoveryPoint(Uint8Array.from([])), false);
});

test("bytes of any kind are read to an end", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 2000 }), (bytes) => {
      isBidirectional(bytes);
      hasRecoveryPoint(bytes);
    }),
  );
});
