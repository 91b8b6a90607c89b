import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { MediaError } from "../access-unit.ts";
import { type AmfValue, readAmf, writeAmf } from "./amf0.ts";

const { value: amfValue } = fc.letrec<{ value: AmfValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.double({ noNaN: true }),
    fc.boolean(),
    fc.string(),
    fc.constant(null),
    fc.array(tie("value"), { maxLength: 5 }),
    fc.dictionary(fc.string({ minLength: 1 }), tie("value"), { maxKeys: 5 }),
  ),
}));

test("reads what it wrote", () => {
  fc.assert(
    fc.property(fc.array(amfValue, { maxLength: 5 }), (values) => {
      assert.deepEqual(toPlain(readAmf(writeAmf(...values))), toPlain(values));
    }),
  );
});

test("reads strings that need a long length, dates, and maps whose count is wrong", () => {
  const long = "x".repeat(70_000);
  assert.deepEqual(readAmf(writeAmf(long)), [long]);
  const date = Buffer.alloc(11, 0);
  date[0] = 11;
  date.writeDoubleBE(1234, 1);
  assert.deepEqual(readAmf(date), [1234]);
  const map = Buffer.from([8, 0, 0, 0, 99, 0, 1, 97, 1, 1, 0, 0, 9]);
  assert.deepEqual(toPlain(readAmf(map)), [{ a: true }]);
});

test("untrusted names do not pollute prototypes", () => {
  const [object] = readAmf(
    Buffer.concat([Buffer.from([3, 0, 9]), Buffer.from("__proto__"), writeAmf("x"), Buffer.from([0, 0, 9])]),
  );
  assert.equal(Object.getPrototypeOf(object), null);
});

test("any bytes are read or a `MediaError`", () => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 300 }),
    fc.array(fc.constantFrom(0, 1, 2, 3, 8, 9, 10, 12, 0xff), { maxLength: 300 }).map((list) => Uint8Array.from(list)),
  );
  fc.assert(
    fc.property(bytes, (input) => {
      try {
        readAmf(Buffer.from(input));
      } catch (error) {
        assert.ok(error instanceof MediaError, String(error));
      }
    }),
    { numRuns: 2000 },
  );
});

test("depth and number of values are limited", () => {
  const nest = (depth: number): AmfValue => (depth === 0 ? 1 : [nest(depth - 1)]);
  assert.doesNotThrow(() => readAmf(writeAmf(nest(8))));
  assert.throws(() => readAmf(writeAmf(nest(9))), /nested deeper than 8/);
  assert.throws(() => readAmf(writeAmf(...Array<number>(513).fill(1))), /more than 512 values/);
  const claims = Buffer.from([10, 0xff, 0xff, 0xff, 0xff]);
  assert.throws(() => readAmf(claims), /value is truncated/);
});

const toPlain = (values: readonly AmfValue[]): unknown => JSON.parse(JSON.stringify(values));
