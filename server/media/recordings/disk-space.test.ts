import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "../../store/database.fixture.ts";
import { DiskGuard } from "./disk-space.ts";

/** A disk with so much free, and recordings of 30 each, whose space comes back at once or later. */
function open(free: number, recordings: number, isSlow = false) {
  const disk = { free, recordings, owed: 0, nowMs: 0 };
  const allowed: boolean[] = [];
  const guard = new DiskGuard({
    reserveBytes: 100,
    log: silentLog,
    freeBytes: async () => disk.free,
    removeOldest: async () => {
      if (disk.recordings === 0) return null;
      disk.recordings--;
      if (isSlow) disk.owed += 30;
      else disk.free += 30;
      return 30;
    },
    now: () => disk.nowMs,
    onAllowed: (isAllowed) => void allowed.push(isAllowed),
  });
  return { disk, guard, allowed };
}

test("removes nothing while there is space", async () => {
  const { disk, guard, allowed } = open(100, 3);
  await guard.check();
  assert.deepEqual([disk.recordings, guard.trouble, allowed], [3, null, []]);
});

test("removes the oldest until there is space, and no more", async () => {
  const { disk, guard, allowed } = open(60, 5);
  await guard.check();
  assert.deepEqual([disk.recordings, guard.isAllowed, allowed], [3, true, []]);
});

test("stops recording when none is left, until there is a little more space than the reserve", async () => {
  const { disk, guard, allowed } = open(10, 1);
  await guard.check();
  assert.deepEqual([disk.recordings, guard.isAllowed, allowed], [0, false, [false]]);
  assert.match(guard.trouble ?? "", /nearly full/);
  disk.free = 105;
  await guard.check();
  assert.equal(guard.isAllowed, false, "not at the very edge");
  disk.free = 111;
  await guard.check();
  assert.deepEqual([guard.isAllowed, guard.trouble, allowed], [true, null, [false, true]]);
});

test("space that becomes free late costs no more recordings", async () => {
  const { disk, guard, allowed } = open(60, 50, true);
  for (; disk.nowMs < 10_000; disk.nowMs += 1000) await guard.check();
  assert.deepEqual([disk.recordings, allowed], [48, []]);
  disk.free += disk.owed;
  disk.nowMs = 60_000;
  await guard.check();
  assert.deepEqual([disk.recordings, allowed], [48, []]);
});

test("space that does not become free costs more recordings after a while, and finally recording stops", async () => {
  const { disk, guard, allowed } = open(60, 3, true);
  await guard.check();
  assert.deepEqual([disk.recordings, allowed], [1, []]);
  disk.nowMs += 60_000;
  await guard.check();
  assert.deepEqual([disk.recordings, allowed], [0, [false]]);
});

test("notices data written after a removal at once, also while some space is not free yet", async () => {
  for (const isSlow of [false, true]) {
    const { disk, guard, allowed } = open(60, 5, isSlow);
    await guard.check();
    disk.nowMs += 2000;
    disk.free -= 35;
    await guard.check();
    assert.deepEqual([disk.recordings, disk.free + disk.owed, allowed], [2, 115, []], `slow: ${isSlow}`);
  }
});

test("does not count space twice that became free", async () => {
  const { disk, guard } = open(60, 5, true);
  await guard.check();
  disk.free += 30;
  disk.nowMs += 1000;
  await guard.check();
  disk.free += 30;
  disk.nowMs += 1000;
  await guard.check();
  disk.free -= 30;
  await guard.check();
  assert.deepEqual([disk.recordings, disk.free], [2, 90]);
});
