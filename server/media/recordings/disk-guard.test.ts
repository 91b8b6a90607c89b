import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "../../store/database.fixture.ts";
import { DiskGuard } from "./disk-guard.ts";

/** A disk with so much free, and recordings of 30 each. */
function open(free: number, recordings: number) {
  const disk = { free, recordings };
  const allowed: boolean[] = [];
  const guard = new DiskGuard({
    reserveBytes: 100,
    log: silentLog,
    freeBytes: async () => disk.free,
    removeOldest: async () => {
      if (disk.recordings === 0) return false;
      disk.recordings--;
      disk.free += 30;
      return true;
    },
    onAllowed: (isAllowed) => void allowed.push(isAllowed),
  });
  return { disk, guard, allowed };
}

test("while there is room nothing goes", async () => {
  const { disk, guard, allowed } = open(100, 3);
  await guard.look();
  assert.deepEqual([disk.recordings, guard.trouble, allowed], [3, null, []]);
});

test("the oldest go until there is room, and no more of them", async () => {
  const { disk, guard, allowed } = open(60, 5);
  await guard.look();
  assert.deepEqual([disk.recordings, guard.isAllowed, allowed], [3, true, []]);
});

test("when none is left nothing is recorded, until there is a little more room than the reserve", async () => {
  const { disk, guard, allowed } = open(10, 1);
  await guard.look();
  assert.deepEqual([disk.recordings, guard.isAllowed, allowed], [0, false, [false]]);
  assert.match(guard.trouble ?? "", /nearly full/);
  disk.free = 105;
  await guard.look();
  assert.equal(guard.isAllowed, false, "not at the very edge");
  disk.free = 111;
  await guard.look();
  assert.deepEqual([guard.isAllowed, guard.trouble, allowed], [true, null, [false, true]]);
});
