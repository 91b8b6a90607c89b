import assert from "node:assert/strict";
import { test } from "node:test";
import { listTree, named, pssMb } from "./density/usage.ts";
import { findMost, holds, isMachineIdle } from "./density.ts";

const WELL = { p95Ms: 200, fps: 25, inferences: 5, dropped: 0, cores: 0.3, others: 0, memoryMb: [] };

/** A machine that carries this number of streams, and the numbers that were tried on it. */
function machine(most: number) {
  const tried: number[] = [];
  const run = async (streams: number) => {
    tried.push(streams);
    return { ...WELL, streams, p95Ms: streams > most ? 5000 : 200 };
  };
  return { tried, run };
}

test("finds the most streams by halving, and never tries more than the bound", async () => {
  for (const [most, carried, expected] of [
    [4, 4, [4]],
    [6, 4, [6, 3, 4, 5]],
    [64, 40, [64, 32, 48, 40, 44, 42, 41]],
  ] as const) {
    const { tried, run } = machine(carried);
    assert.equal((await findMost(most, run)).streams, carried);
    assert.deepEqual(tried, expected);
  }
});

test("a search that takes too long ends with the most streams so far", async () => {
  const { tried, run } = machine(40);
  assert.equal((await findMost(64, run, () => true)).streams, 32);
  assert.deepEqual(tried, [64, 32]);
});

test("tries as many streams as were processed at the last attempt", async () => {
  const tried: number[] = [];
  const found = await findMost(12, async (streams) => {
    tried.push(streams);
    const share = Math.min(1, 5 / streams);
    return { ...WELL, streams, fps: 25 * share, inferences: 5 * share };
  });
  assert.equal(found.streams, 5);
  assert.deepEqual(tried, [12, 5, 6]);
});

test("a machine that carries no stream gives the trial of one, which does not hold", async () => {
  const found = await findMost(2, machine(0).run);
  assert.equal(found.streams, 1);
  assert.equal(holds(found), false);
});

test("a stream that is late, slow, rarely inferred, lossy or ended is not carried", () => {
  const trial = { ...WELL, streams: 1 };
  assert.ok(holds(trial));
  for (const fault of [{ p95Ms: 401 }, { p95Ms: Number.NaN }, { fps: 20 }, { inferences: 4 }, { dropped: 1 }])
    assert.equal(holds({ ...trial, ...fault }), false, JSON.stringify(fault));
});

test("streams are counted only while other programs leave most of the machine", () => {
  const trial = { ...WELL, streams: 1 };
  assert.equal(isMachineIdle({ ...trial, others: 0.4 }, 2), true);
  assert.equal(isMachineIdle({ ...trial, others: 1.8 }, 2), false);
});

test("reads the processes and the memory of this machine", () => {
  assert.ok(listTree(process.ppid).includes(process.pid));
  assert.deepEqual(named([process.pid], "no such program"), []);
  assert.ok(pssMb(process.pid) > 10);
  assert.ok(Number.isNaN(pssMb(0)));
});
