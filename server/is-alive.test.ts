import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { until } from "../test/watch.fixture.ts";
import { isAlive } from "./is-alive.ts";

test("a process that runs is alive", () => {
  assert.ok(isAlive(process.pid));
  assert.ok(isAlive(1), "that of another user, too");
});

test("a process that has ended is not, whether its parent has waited for it or not", async () => {
  // The shell becomes `sleep`, which never waits for the child that the shell has started.
  const parent = spawn("sh", ["-c", "sleep 60 & echo $!; exec sleep 60"], { stdio: ["ignore", "pipe", "inherit"] });
  try {
    const [line] = (await once(parent.stdout, "data")) as [Buffer];
    const child = Number(line.toString());
    await until(() => readFileSync(`/proc/${parent.pid}/comm`, "utf8") === "sleep\n");
    process.kill(child, "SIGKILL");
    await until(() => !isAlive(child));
    assert.ok(!isAlive(child), "ended, and not waited for");
    assert.doesNotThrow(() => process.kill(child, 0), "it still has its number");
  } finally {
    parent.kill("SIGKILL");
    await once(parent, "exit");
  }
  assert.ok(!isAlive(parent.pid ?? 0), "ended, and waited for");
});
