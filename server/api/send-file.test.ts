import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { hasMatch, readRange } from "./send-file.ts";

const ETAG = '"a"';
const read = (range: string | undefined, condition: string | undefined = undefined, bytes = 100) =>
  readRange(range, condition, ETAG, bytes);

const ROWS: readonly (readonly [range: string | undefined, expected: ReturnType<typeof read>])[] = [
  [undefined, null],
  ["bytes=0-9", { first: 0, last: 9 }],
  ["bytes=90-", { first: 90, last: 99 }],
  ["bytes=90-500", { first: 90, last: 99 }],
  ["bytes=-10", { first: 90, last: 99 }],
  ["bytes=-500", { first: 0, last: 99 }],
  ["BYTES=5-5", { first: 5, last: 5 }],
  ["bytes=100-", "none"],
  ["bytes=100-200", "none"],
  ["bytes=-0", "none"],
  ["bytes=9-5", null],
  ["bytes=-", null],
  ["bytes=0-1,3-4", null],
  ["lines=0-9", null],
  ["bytes=x-9", null],
  ["bytes=99999999999999999999-", null],
];

for (const [range, expected] of ROWS)
  test(`of 100 bytes, "${range}" is ${JSON.stringify(expected)}`, () => assert.deepEqual(read(range), expected));

test("returns the whole file if it has changed", () => {
  assert.deepEqual(read("bytes=0-9", ETAG), { first: 0, last: 9 });
  assert.equal(read("bytes=0-9", '"b"'), null);
  assert.equal(read("bytes=0-9", "Sun, 15 Nov 2026 12:00:00 GMT"), null);
});

test("an empty file has no ranges", () => {
  assert.equal(read("bytes=0-", undefined, 0), "none");
  assert.equal(read("bytes=-5", undefined, 0), "none");
});

test("every returned range lies within the file", () => {
  fc.assert(
    fc.property(fc.string(), fc.nat(), fc.nat(), fc.nat(1000), (text, a, b, bytes) => {
      for (const range of [text, `bytes=${text}`, `bytes=${a}-${b}`, `bytes=${a}-`, `bytes=-${b}`]) {
        const found = readRange(range, undefined, ETAG, bytes);
        if (found === null || found === "none") continue;
        assert.ok(0 <= found.first && found.first <= found.last && found.last < bytes, range);
      }
    }),
  );
});

test("recognises a client that already has the file", () => {
  assert.ok(hasMatch('"x", W/"a"', ETAG));
  assert.ok(hasMatch("*", ETAG));
  assert.ok(!hasMatch('"x"', ETAG));
  assert.ok(!hasMatch(undefined, ETAG));
});
