import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { CommandFailure, runCommand } from "./command.mjs";

/** No such process, or a zombie. */
const isDead = (pid: number): boolean =>
  !existsSync(`/proc/${pid}/stat`) || / Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));

async function untilDead(pid: number): Promise<void> {
  while (!isDead(pid)) await new Promise((resolve) => setTimeout(resolve, 5));
}

test("resolves with the output of a command that succeeds", async () => {
  assert.equal(await runCommand("sh", ["-c", "echo one; echo two"]), "one\ntwo");
});

test("rejects a failed command with its command line, the reason and its last lines", async () => {
  const failing = runCommand("sh", ["-c", "echo out; echo err >&2; exit 3"]);
  await assert.rejects(failing, (error) => {
    assert.ok(error instanceof CommandFailure);
    assert.equal(error.command, "sh -c 'echo out; echo err >&2; exit 3'");
    assert.equal(error.reason, "exited with 3");
    assert.deepEqual([...error.lines].sort(), ["err", "out"]);
    return true;
  });
});

test("rejects a program that does not exist", async () => {
  await assert.rejects(runCommand("windhover-no-such-program", []), /could not be started/);
});

test("keeps the last lines of long output", async () => {
  const output = await runCommand("sh", ["-c", "seq 1 20000"]);
  assert.ok(output.split("\n").length <= 400);
  assert.ok(output.endsWith("\n20000"));
});

test("ends a command that takes too long, with its child processes", async () => {
  let child = 0;
  const onLine = (line: string) => {
    child = Number(line);
  };
  const late = runCommand("sh", ["-c", "sleep 600 & echo $!; wait"], { limitMs: 300, onLine });
  await assert.rejects(late, (error) => error instanceof CommandFailure && error.late);
  assert.ok(child > 0);
  await untilDead(child);
});

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  test(`${signal} ends running commands`, async () => {
    const script = `
      import { endCommandsOnSignal, runCommand } from ${JSON.stringify(new URL("./command.mjs", import.meta.url).href)};
      endCommandsOnSignal();
      await runCommand("sh", ["-c", "sleep 600 & echo $!; wait"], { onLine: console.log }).catch(() => {});`;
    const owner = spawn(process.execPath, ["--input-type=module", "--eval", script]);
    const [line] = await once(owner.stdout, "data");
    owner.kill(signal);
    const [code] = await once(owner, "exit");
    assert.equal(code, signal === "SIGINT" ? 130 : 143);
    await untilDead(Number(line));
  });
}
