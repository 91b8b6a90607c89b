import assert from "node:assert/strict";
import { test } from "node:test";
import { LatestWriter } from "./latest-writer.ts";

/** A database that fails this many times, and then accepts everything but negative numbers. */
function makeDatabase(failures: number) {
  const written: number[] = [];
  let lost = 0;
  let left = failures;
  const writer = new LatestWriter<number>({
    write: async (value) => {
      if (left-- > 0) throw new Error("unreachable");
      if (value < 0) return false;
      written.push(value);
      return true;
    },
    onLost: () => {
      lost++;
    },
    onRetry: () => {},
  });
  return { writer, written, lost: () => lost };
}

test("writes the latest value and skips those that waited meanwhile", async () => {
  const { writer, written } = makeDatabase(0);
  await Promise.all([1, 2, 3, 4].map((value) => writer.save(value)));
  assert.deepEqual(written, [1, 4]);
});

test("keeps one value while the database is unreachable, and resolves all saves when it is written", async () => {
  const { writer, written } = makeDatabase(2);
  const saves = await Promise.all([1, 2, 3].map((value) => writer.save(value)));
  assert.deepEqual([written, saves], [[3], [true, true, true]]);
});

test("stops writing when the claim is lost, and reports that once", async () => {
  const { writer, written, lost } = makeDatabase(0);
  assert.deepEqual(await Promise.all([writer.save(-1), writer.save(2)]), [false, false]);
  assert.equal(await writer.save(3), false);
  assert.deepEqual([written, lost()], [[], 1]);
});

test("resolves waiting saves with false when it is closed", async () => {
  const { writer, written } = makeDatabase(Number.POSITIVE_INFINITY);
  const saves = [writer.save(1), writer.save(2)];
  writer.close();
  assert.deepEqual(await Promise.all(saves), [false, false]);
  assert.deepEqual(written, []);
});
