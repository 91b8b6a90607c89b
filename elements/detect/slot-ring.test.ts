import assert from "node:assert/strict";
import test from "node:test";
import { SlotRing } from "./slot-ring.ts";

test("a slot is had by one at a time, and those who wait get it in their order", async () => {
  const ring = new SlotRing(2);
  assert.deepEqual([await ring.take(), await ring.take()], [0, 1]);
  const got: string[] = [];
  const third = ring.take().then((slot) => got.push(`third ${slot}`));
  const fourth = ring.take().then((slot) => got.push(`fourth ${slot}`));
  ring.giveBack(1);
  await third;
  ring.giveBack(0);
  await fourth;
  assert.deepEqual(got, ["third 1", "fourth 0"]);
});
