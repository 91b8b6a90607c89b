import assert from "node:assert/strict";
import { test } from "node:test";
import type { ProcessSnapshot } from "../store/processes.ts";
import { StateWriter } from "./state-writer.ts";

const snapshot = (positionNs: number) => ({ positionNs }) as ProcessSnapshot;

/** A database that fails as often as it is told to, and then takes everything. */
function makeDatabase(failures: number) {
  const written: number[] = [];
  let lost = 0;
  let left = failures;
  const writer = new StateWriter({
    write: async ({ positionNs }) => {
      if (left-- > 0) throw new Error("away");
      if (positionNs < 0) return false;
      written.push(positionNs);
      return true;
    },
    onLost: () => {
      lost++;
    },
    onTrouble: () => {},
  });
  return { writer, written, lost: () => lost };
}

test("the latest is written, and what waited meanwhile is not", async () => {
  const { writer, written } = makeDatabase(0);
  await Promise.all([1, 2, 3, 4].map((position) => writer.save(snapshot(position))));
  assert.deepEqual(written, [1, 4]);
});

test("while the database is away one is kept, and whoever waits is told once it is through", async () => {
  const { writer, written } = makeDatabase(2);
  const saves = await Promise.all([1, 2, 3].map((position) => writer.save(snapshot(position))));
  assert.deepEqual([written, saves], [[3], [true, true, true]]);
});

test("a lost claim ends the writing, and is told once", async () => {
  const { writer, written, lost } = makeDatabase(0);
  assert.deepEqual(await Promise.all([writer.save(snapshot(-1)), writer.save(snapshot(2))]), [false, false]);
  assert.equal(await writer.save(snapshot(3)), false);
  assert.deepEqual([written, lost()], [[], 1]);
});

test("closing lets go of everybody who waits, and says that it is not written", async () => {
  const { writer, written } = makeDatabase(Number.POSITIVE_INFINITY);
  const saves = [writer.save(snapshot(1)), writer.save(snapshot(2))];
  writer.close();
  assert.deepEqual(await Promise.all(saves), [false, false]);
  assert.deepEqual(written, []);
});
