import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ageMs, drawTimeCode, readTimeCode } from "./time-code.ts";

const draw = (width: number, height: number, ms: number) => {
  const data = new Uint8Array(width * height).fill(128);
  drawTimeCode(data, width, height, ms);
  return { data, width, height, step: 1 };
};

test("reads any time back from a frame of any size, also after scaling", () => {
  fc.assert(
    fc.property(fc.nat(2 ** 31), fc.integer({ min: 60, max: 500 }), fc.integer({ min: 60, max: 400 }), (n, w, h) => {
      const ms = n * 2 + 1_700_000_000_000;
      const picture = draw(w, h, ms);
      assert.equal(readTimeCode(picture), ms % 2 ** 32);
      const half = { width: w >> 1, height: h >> 1, step: 1 };
      const data = Uint8Array.from({ length: half.width * half.height }, (_, i) => {
        const x = (i % half.width) * 2;
        const y = Math.floor(i / half.width) * 2;
        return picture.data[y * w + x] ?? 0;
      });
      assert.equal(readTimeCode({ ...half, data }), ms % 2 ** 32);
    }),
    { numRuns: 50 },
  );
});

test("returns null without a time code or with a wrong bit", () => {
  assert.equal(readTimeCode({ data: new Uint8Array(64 * 64).fill(128), width: 64, height: 64, step: 1 }), null);
  assert.equal(readTimeCode({ data: new Uint8Array(64 * 64), width: 64, height: 64, step: 1 }), null);
  const { data, ...rest } = draw(100, 64, 1_790_000_000_123);
  for (let y = 0; y < 4; y++) for (let x = 0; x < 10; x++) data[y * 100 + x] = 251 - (data[y * 100 + x] ?? 0);
  assert.equal(readTimeCode({ data, ...rest }), null);
});

test("computes the age after the code has wrapped", () => {
  const wrap = 2 ** 32 * 417;
  assert.equal(ageMs(wrap + 5, (wrap - 20) % 2 ** 32), 25);
});
