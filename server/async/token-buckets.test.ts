import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { TokenBuckets } from "./token-buckets.ts";

test("allows a burst, then one token at a time, and returns the wait", () => {
  const clock = { ms: 0 };
  const buckets = new TokenBuckets(() => clock.ms);
  assert.deepEqual(
    [1, 2, 3].map(() => buckets.take("a", 2)),
    [0, 0, 30],
  );
  assert.equal(buckets.take("b", 2), 0);
  clock.ms = 29_000;
  assert.equal(Math.round(buckets.peek("a", 2)), 1);
  clock.ms = 30_000;
  assert.equal(buckets.take("a", 2), 0);
  assert.ok(buckets.take("a", 2) > 0);
});

test("reports what is left, and when the bucket is full again", () => {
  const clock = { ms: 0 };
  const buckets = new TokenBuckets(() => clock.ms);
  assert.deepEqual(buckets.left("a", 60), { tokens: 60, fullSeconds: 0 });
  for (let i = 0; i < 10; i++) buckets.take("a", 60);
  assert.deepEqual(buckets.left("a", 60), { tokens: 50, fullSeconds: 10 });
  clock.ms = 4_500;
  assert.deepEqual(buckets.left("a", 60), { tokens: 54, fullSeconds: 6 });
});

test("keeps a bounded number of buckets", () => {
  const buckets = new TokenBuckets(() => 0, 100);
  for (let i = 0; i < 1000; i++) buckets.take(`address ${i}`, 5);
  assert.equal(buckets.size, 100);
});

test("never allows more than the burst plus the refill", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(5_000), { maxLength: 200 }), fc.integer({ min: 1, max: 100 }), (gaps, perMinute) => {
      const clock = { ms: 0 };
      const buckets = new TokenBuckets(() => clock.ms);
      let given = 0;
      for (const gap of gaps) {
        clock.ms += gap;
        if (buckets.take("a", perMinute) === 0) given += 1;
      }
      assert.ok(given <= perMinute + (clock.ms * perMinute) / 60_000 + 1e-6);
    }),
  );
});
