import assert from "node:assert/strict";
import { test } from "node:test";
import { findJpegFault } from "./whole-jpeg.ts";

const COMMENT = [0xff, 0xfe, 0, 4, 0xff, 0xd9];
const FRAME = [0xff, 0xc0, 0, 5, 8, 0, 1];
/** With an 0xff of its own and a restart within. */
const SCAN = [0xff, 0xda, 0, 3, 1, 7, 0xff, 0, 9, 0xff, 0xd0, 5];
const END = [0xff, 0xd9];
const jpeg = (...parts: readonly (readonly number[])[]): Uint8Array => Uint8Array.from([0xff, 0xd8, ...parts.flat()]);

const WHOLE = jpeg(COMMENT, FRAME, SCAN, COMMENT, SCAN, [0xff], END);

test("a whole one has no fault, with whatever follows its end", () => {
  assert.equal(findJpegFault(WHOLE), null);
  assert.equal(findJpegFault(Uint8Array.from([...WHOLE, 1, 2, 3])), null);
});

test("wherever it is cut, it is cut off", () => {
  for (let length = 2; length < WHOLE.length; length++)
    assert.match(findJpegFault(WHOLE.subarray(0, length)) ?? "", /^is cut off: it ends at byte/, `at ${length}`);
});

for (const [what, bytes, fault] of [
  ["noise between markers", jpeg(FRAME, [1, 2], SCAN, END), /^is damaged: expected a marker at byte 9$/],
  ["noise within a scan", jpeg(FRAME, SCAN, [0xff, 0x13], END), /^is damaged: marker 0x13 at byte 21$/],
  ["tables alone", jpeg(FRAME, END), /^has no picture in it$/],
] as const)
  test(`${what} is told of`, () => assert.match(findJpegFault(bytes) ?? "", fault));

test("what is no JPEG is left to its decoder", () => {
  for (const bytes of [[], [0xff], [0x89, 0x50], [0x50, 0x36]])
    assert.equal(findJpegFault(Uint8Array.from(bytes)), null);
});
