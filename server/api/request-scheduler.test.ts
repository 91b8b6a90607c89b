import assert from "node:assert/strict";
import { test } from "node:test";
import { RequestScheduler } from "./request-scheduler.ts";

const iteration = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const block = (ms: number): void => {
  const sinceMs = performance.now();
  while (performance.now() - sinceMs < ms);
};

test("starts one request per client and iteration, in the order of each client", async () => {
  const scheduler = new RequestScheduler();
  const started: string[] = [];
  for (const item of ["a1", "a2", "a3", "b1", "c1", "c2"])
    scheduler.schedule(item.slice(0, 1), () => started.push(item));
  assert.deepEqual(started, []);
  await iteration();
  assert.deepEqual(started, ["a1", "b1", "c1"]);
  while (started.length < 6) await iteration();
  assert.deepEqual(started.slice(3), ["a2", "c2", "a3"]);
});

test("starts a request that is scheduled by another one in a later iteration", async () => {
  const scheduler = new RequestScheduler();
  const started: string[] = [];
  scheduler.schedule("a", () => {
    started.push("a1");
    scheduler.schedule("a", () => started.push("a2"));
  });
  await iteration();
  assert.deepEqual(started, ["a1"]);
  while (started.length < 2) await iteration();
});

test("starts several requests of the only active client per iteration, for a short time", async () => {
  let nowMs = 0;
  const scheduler = new RequestScheduler(() => nowMs);
  let started = 0;
  const count = () => {
    started += 1;
  };
  for (let i = 0; i < 5; i++) scheduler.schedule("a", count);
  await iteration();
  assert.equal(started, 5);
  for (let i = 0; i < 5; i++)
    scheduler.schedule("a", () => {
      count();
      nowMs += 5;
    });
  await iteration();
  assert.equal(started, 6);
  while (started < 10) await iteration();
  for (let i = 0; i < 3; i++) void scheduler.scheduleExpensive("a", 20_000).then(count);
  await iteration();
  assert.equal(started, 11, "one expensive task per iteration");
  while (started < 13) await iteration();
});

test("does not throttle a client with a long queue while no other client is active", async () => {
  const scheduler = new RequestScheduler();
  let started = 0;
  for (let i = 0; i < 50; i++)
    scheduler.schedule("a", () => {
      started += 1;
      block(2);
    });
  for (let i = 0; i < 50; i++) await iteration();
  assert.equal(started, 50);
});

for (const [name, isExpensive] of [
  ["with a long queue", false],
  ["with expensive tasks", true],
] as const)
  test(`limits a client ${name} to part of the thread while another client is active`, async () => {
    const scheduler = new RequestScheduler();
    let started = 0;
    const add = () =>
      isExpensive ? void scheduler.scheduleExpensive("a", 1000).then(run) : scheduler.schedule("a", run);
    const run = () => {
      started += 1;
      block(5);
      if (started < 20) add();
    };
    for (let i = 0; i < (isExpensive ? 2 : 20); i++) add();
    const before = performance.eventLoopUtilization();
    while (started < 20) {
      await new Promise<void>((resolve) => scheduler.schedule("b", resolve));
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    const { utilization } = performance.eventLoopUtilization(before);
    assert.ok(utilization < 0.8, `the thread was busy for ${utilization} of the time`);
  });

test("delays the tasks of a client by their bytes while another client is active", async () => {
  const scheduler = new RequestScheduler();
  const elapsedMs = async () => {
    const sinceMs = performance.now();
    for (let i = 0; i < 3; i++) await scheduler.scheduleExpensive("a", 250_000);
    return performance.now() - sinceMs;
  };
  const aloneMs = await elapsedMs();
  const other = setInterval(() => scheduler.schedule("b", () => {}), 1);
  await new Promise<void>((resolve) => scheduler.schedule("b", resolve));
  try {
    const besideMs = await elapsedMs();
    assert.ok(besideMs >= 200 && besideMs > 2 * aloneMs, `${besideMs} ms, alone ${aloneMs} ms`);
  } finally {
    clearInterval(other);
  }
});
