import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "../store/database.fixture.ts";
import { Settling } from "./video-files.ts";

test("retries until the file is settled", async () => {
  const tries: string[] = [];
  await new Promise<void>((resolve) => {
    const settling = new Settling(async (fileName) => {
      tries.push(fileName);
      if (tries.length < 3) throw new Error("the database is unavailable");
      resolve();
    }, silentLog);
    void settling.settle("a.mp4", 1);
    // Its timers keep no process alive; this one does.
    const alive = setInterval(() => tries.length === 3 && clearInterval(alive), 1);
  });
  assert.deepEqual(tries, ["a.mp4", "a.mp4", "a.mp4"]);
});

test("does not retry after it is closed", async () => {
  let tries = 0;
  const settling = new Settling(async () => {
    tries += 1;
    throw new Error("the database is unavailable");
  }, silentLog);
  await settling.settle("a.mp4", 1);
  settling.close();
  await settling.settle("b.mp4", 1);
  // A timer that is due later than theirs would be: when it fires, theirs have fired or never will.
  await new Promise((resolve) => setTimeout(resolve, 2));
  assert.equal(tries, 2);
});
