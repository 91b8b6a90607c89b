import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Deadline } from "./channel.ts";

/** Long for a program that sends a message every 50 ms, even on a busy machine. */
const LIMIT_MS = 1000;
const MESSAGES = 30;

let folder: string;
let talker: ChildProcess;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "windhover-deadline-"));
  const file = join(folder, "talker.mjs");
  await writeFile(file, `setInterval(() => process.send("here"), 50); process.on("disconnect", () => process.exit());`);
  talker = fork(file, [], { execArgv: [] });
  await once(talker, "message");
});
after(async () => {
  talker.kill("SIGKILL");
  await rm(folder, { recursive: true, force: true });
});

/** Blocks this process, as while it is stopped. */
const standStill = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

test("is not missed by a program that sends in time while this process is blocked for longer than the limit", async () => {
  let isMissed = false;
  const deadline = new Deadline(LIMIT_MS, () => {
    isMissed = true;
  });
  let received = 0;
  talker.on("message", () => {
    received++;
    deadline.refresh();
  });
  standStill(1.5 * LIMIT_MS);
  while (received < MESSAGES) await once(talker, "message");
  deadline.close();
  talker.removeAllListeners("message");
  assert.equal(isMissed, false);
});

test("is missed once without a refresh, and never after it is closed", async () => {
  let missed = 0;
  const closed = new Deadline(1, () => assert.fail("it was closed"));
  await new Promise<void>((resolve) => {
    new Deadline(100, () => {
      missed++;
      resolve();
    });
    closed.close();
  });
  assert.equal(missed, 1);
});
