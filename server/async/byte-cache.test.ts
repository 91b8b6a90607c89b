import assert from "node:assert/strict";
import { test } from "node:test";
import { ByteCache } from "./byte-cache.ts";

test("drops the least recently used beyond its size, and counts entries without data", () => {
  const cache = new ByteCache(3_000);
  for (const key of ["a", "b"]) cache.add(key, new Uint8Array(1_000));
  assert.ok(cache.find("a") !== null);
  cache.add("c", new Uint8Array(1_000));
  assert.deepEqual(
    ["a", "b", "c"].map((key) => cache.find(key) !== null),
    [true, false, true],
  );
  cache.add("c", new Uint8Array(10));
  assert.equal(cache.find("c")?.length, 10);
  assert.ok(cache.find("a") !== null, "a smaller replacement makes room");
  for (let i = 0; i < 100; i++) cache.add(`empty ${i}`, new Uint8Array(0));
  assert.equal(cache.find("empty 0"), null);
  assert.ok(cache.find("empty 99") !== null);
});
