import assert from "node:assert/strict";
import { test } from "node:test";
import { pino } from "pino";
import { ShutDown } from "./shut-down.ts";

const make = () => new ShutDown(pino({ level: "silent" }));

test("closes in the reverse order, each when the one above it is closed", async () => {
  const shutDown = make();
  const closed: string[] = [];
  for (const name of ["database", "processes", "api"])
    shutDown.add(name, 1000, async () => {
      await new Promise((resolve) => setImmediate(resolve));
      closed.push(name);
    });
  assert.equal(await shutDown.run(), true);
  assert.deepEqual(closed, ["api", "processes", "database"]);
});

test("continues below a part that throws, rejects or never ends, and says so", async () => {
  const shutDown = make();
  let isClosed = false;
  shutDown.add("last", 1000, () => {
    isClosed = true;
  });
  shutDown.add("throws", 1000, () => {
    throw new Error("no");
  });
  shutDown.add("rejects", 1000, () => Promise.reject(new Error("no")));
  shutDown.add("hangs", 10, () => new Promise(() => {}));
  assert.equal(await shutDown.run(), false);
  assert.equal(isClosed, true);
});

test("closes once, however often it is asked to", async () => {
  const shutDown = make();
  let times = 0;
  shutDown.add("part", 1000, () => {
    times += 1;
  });
  await Promise.all([shutDown.run(), shutDown.run()]);
  await shutDown.run();
  assert.equal(times, 1);
});
