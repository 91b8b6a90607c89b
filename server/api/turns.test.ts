import assert from "node:assert/strict";
import { test } from "node:test";
import { Turns } from "./turns.ts";

const pass = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const work = (ms: number): void => {
  const startedMs = performance.now();
  while (performance.now() - startedMs < ms);
};

test("each client begins one in a pass, in its own order", async () => {
  const turns = new Turns();
  const begun: string[] = [];
  for (const item of ["a1", "a2", "a3", "b1", "c1", "c2"]) turns.add(item.slice(0, 1), () => begun.push(item));
  assert.deepEqual(begun, []);
  await pass();
  assert.deepEqual(begun, ["a1", "b1", "c1"]);
  while (begun.length < 6) await pass();
  assert.deepEqual(begun.slice(3), ["a2", "c2", "a3"]);
});

test("what is added while others begin has its turn in a later pass", async () => {
  const turns = new Turns();
  const begun: string[] = [];
  turns.add("a", () => {
    begun.push("a1");
    turns.add("a", () => begun.push("a2"));
  });
  await pass();
  assert.deepEqual(begun, ["a1"]);
  while (begun.length < 2) await pass();
});

test("alone, a client with many waiting has all of the thread", async () => {
  const turns = new Turns();
  let begun = 0;
  for (let i = 0; i < 50; i++)
    turns.add("a", () => {
      begun += 1;
      work(2);
    });
  for (let i = 0; i < 50; i++) await pass();
  assert.equal(begun, 50);
});

for (const [name, isHeavy] of [
  ["that has many waiting", false],
  ["whose work takes long", true],
] as const)
  test(`while another asks, a client ${name} leaves half of the thread`, async () => {
    const turns = new Turns();
    let begun = 0;
    const add = () => (isHeavy ? void turns.next("a").then(run) : turns.add("a", run));
    const run = () => {
      begun += 1;
      work(5);
      if (begun < 20) add();
    };
    for (let i = 0; i < (isHeavy ? 2 : 20); i++) add();
    const before = performance.eventLoopUtilization();
    while (begun < 20) {
      await new Promise<void>((resolve) => turns.add("b", resolve));
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    const { utilization } = performance.eventLoopUtilization(before);
    assert.ok(utilization < 0.8, `the thread was busy for ${utilization} of the time`);
  });
