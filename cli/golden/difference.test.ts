import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Json } from "../../schemas/json.ts";
import { compareValues } from "./difference.ts";

const paths = (golden: Json, now: Json, relative = 0) => compareValues(golden, now, relative).map(({ path }) => path);

test("numbers may differ by a share of themselves", () => {
  assert.deepEqual(paths({ a: 100 }, { a: 100.1 }, 0.001), []);
  assert.deepEqual(paths({ a: 100 }, { a: 100.2 }, 0.001), ["a"]);
  assert.deepEqual(paths({ a: 0 }, { a: 1e-9 }, 0.001), ["a"]);
});

test("what is on one side only, of another type or in another place has a path", () => {
  assert.deepEqual(paths({ a: { b: [1, { c: "x" }] } }, { a: { b: [1, { c: "y" }, 2] } }), ["a.b.1.c", "a.b.2"]);
  assert.deepEqual(paths({ a: null }, {}), ["a"]);
  assert.deepEqual(paths({ a: [] }, { a: {} }), ["a"]);
  assert.deepEqual(paths({ a: "1" }, { a: 1 }), ["a"]);
});

test("any value is the same as itself", () =>
  fc.assert(
    fc.property(fc.jsonValue(), (value) => assert.deepEqual(paths(value as Json, structuredClone(value) as Json), [])),
  ));
