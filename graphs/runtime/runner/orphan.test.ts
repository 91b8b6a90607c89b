import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { isAlive } from "../../../server/is-alive.ts";
import { childCommand } from "../../../test/child.fixture.ts";

const SERVER = childCommand(new URL("orphan.child.ts", import.meta.url));
const LIMIT_MS = 30_000;

test("a runner ends soon after its server is killed", async () => {
  const server = spawn(process.execPath, SERVER, { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = (await once(server.stdout, "data")) as [Buffer];
  const pid = Number(line.toString());
  assert.ok(pid > 1 && isAlive(pid));
  server.kill("SIGKILL");
  for (const untilMs = performance.now() + LIMIT_MS; isAlive(pid) && performance.now() < untilMs; ) await sleep(20);
  assert.ok(!isAlive(pid), "the runner outlives its server");
});
