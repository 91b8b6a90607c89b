import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { MediaError } from "../access-unit.ts";
import { BitWriter } from "./bit-writer.fixture.ts";
import { hasRecoveryPoint, isBidirectional, nalType, splitLengths, splitStartCodes } from "./nal.ts";

const hex = (text: string): Uint8Array => Buffer.from(text.replaceAll(" ", ""), "hex");
const shown = (nals: readonly Uint8Array[]): string[] => nals.map((nal) => Buffer.from(nal).toString("hex"));

test("a byte stream is split at start codes of three and four bytes, without the zeros between", () => {
  assert.deepEqual(shown(splitStartCodes(hex("00000001 6742 000001 68ce 00 00000165 8800 03"))), [
    "6742",
    "68ce",
    "65880003",
  ]);
  assert.deepEqual(shown(splitStartCodes(hex("ffff 000001 65 000001 000001 41"))), ["65", "41"]);
  assert.deepEqual(splitStartCodes(hex("")), []);
  assert.deepEqual(splitStartCodes(hex("0000")), []);
  assert.deepEqual(splitStartCodes(hex("41424344")), []);
});

test("splits length-prefixed units, and rejects wrong lengths", () => {
  assert.deepEqual(shown(splitLengths(hex("00000002 6742 00000000 00000001 65"), 4)), ["6742", "65"]);
  assert.deepEqual(shown(splitLengths(hex("01 65"), 1)), ["65"]);
  for (const [bytes, size] of [
    ["000000ff 65", 4],
    ["ffffffff 65", 4],
    ["0001", 4],
    ["02 65", 1],
  ] as const)
    assert.throws(() => splitLengths(hex(bytes), size), MediaError);
});

test("limits the NAL units of a picture", () => {
  assert.throws(() => splitLengths(hex("0141".repeat(5000)), 1), MediaError);
  assert.throws(() => splitStartCodes(hex("00000141".repeat(5000))), MediaError);
});

test("reads back any units, with start codes and with lengths", () => {
  // As an encoder writes them: no start code inside, no zero at the end.
  const nal = fc.uint8Array({ minLength: 1, maxLength: 40 }).map((bytes) => {
    const clean = bytes.map((byte) => (byte < 2 ? 0x80 : byte));
    return clean;
  });
  fc.assert(
    fc.property(fc.array(nal, { maxLength: 8 }), (nals) => {
      const stream = Buffer.concat(nals.flatMap((unit, i) => [hex(i % 2 === 0 ? "00000001" : "000001"), unit]));
      assert.deepEqual(shown(splitStartCodes(stream)), shown(nals));
      const boxed = Buffer.concat(nals.flatMap((unit) => [Buffer.from([0, unit.length]), unit]));
      assert.deepEqual(shown(splitLengths(boxed, 2)), shown(nals));
    }),
  );
});

test("the type of a unit is in its first byte", () => {
  assert.equal(nalType(hex("67")), 7);
  assert.equal(nalType(hex("65")), 5);
  assert.equal(nalType(hex("")), 0);
});

const slice = (type: number, firstBlock = 0): Uint8Array => new BitWriter().ue(firstBlock).ue(type).ue(0).nal(0x01);

test("recognizes B slices by both of their numbers", () => {
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
