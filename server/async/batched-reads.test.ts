import assert from "node:assert/strict";
import { test } from "node:test";
import { BatchedReads } from "./batched-reads.ts";

/** Queries that the test completes. */
function openReads() {
  const queries: { readonly keys: readonly string[]; end(error?: Error): void }[] = [];
  const values = new Map<string, number>();
  const reads = new BatchedReads<string, number>((keys) => {
    const found = new Map(values);
    return new Promise((resolve, reject) => {
      queries.push({ keys, end: (error) => (error === undefined ? resolve(found) : reject(error)) });
    });
  });
  return { queries, values, reads };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

test("reads that start together share a query, with each key once", async () => {
  const { queries, values, reads } = openReads();
  values.set("a", 1).set("b", 2);
  const results = ["a", "b", "a", "c"].map((key) => reads.get(key));
  await settle();
  assert.deepEqual(
    queries.map(({ keys }) => keys),
    [["a", "b", "c"]],
  );
  queries[0]?.end();
  assert.deepEqual(await Promise.all(results), [1, 2, 1, undefined]);
});

test("a read never gets the result of a query that was running already", async () => {
  const { queries, values, reads } = openReads();
  values.set("a", 1);
  const before = reads.get("a");
  await settle();
  values.set("a", 2);
  const after = [reads.get("a"), reads.get("a")];
  await settle();
  assert.equal(queries.length, 1, "one query at a time");
  queries[0]?.end();
  assert.equal(await before, 1);
  await settle();
  assert.equal(queries.length, 2);
  queries[1]?.end();
  assert.deepEqual(await Promise.all(after), [2, 2]);
});

test("a failed query rejects only its own reads", async () => {
  const { queries, reads } = openReads();
  const failed = assert.rejects(reads.get("a"), /no connection/);
  await settle();
  const next = reads.get("b");
  queries[0]?.end(new Error("no connection"));
  await failed;
  await settle();
  queries[1]?.end();
  assert.equal(await next, undefined);
});
