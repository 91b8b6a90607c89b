import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { withLock } from "./lock.mjs";

const makeFolder = () => mkdtempSync(join(tmpdir(), "windhover-lock-"));

test("runs one set-up at a time, and all of them in the end", async (t) => {
  const folder = makeFolder();
  t.after(() => rmSync(folder, { recursive: true }));
  let inside = 0;
  let most = 0;
  let waited = 0;
  const work = async () => {
    most = Math.max(most, ++inside);
    await new Promise((resolve) => setImmediate(resolve));
    inside--;
  };
  const onWait = () => waited++;
  await Promise.all([1, 2, 3, 4].map(() => withLock(folder, work, { onWait })));
  assert.equal(most, 1);
  assert.equal(waited, 3);
});

test("releases the lock when its work throws", async (t) => {
  const folder = makeFolder();
  t.after(() => rmSync(folder, { recursive: true }));
  await assert.rejects(
    withLock(folder, () => Promise.reject(new Error("no luck"))),
    /no luck/,
  );
  assert.equal(await withLock(folder, () => "free"), "free");
});

test("releases the lock when its process is killed", async (t) => {
  const folder = makeFolder();
  t.after(() => rmSync(folder, { recursive: true }));
  const script = `
    import { withLock } from ${JSON.stringify(new URL("./lock.mjs", import.meta.url).href)};
    await withLock(process.argv[1], () => new Promise(() => {
      console.log("holding");
      setInterval(() => {}, 1000);
    }));`;
  const holder = spawn(process.execPath, ["--input-type=module", "--eval", script, folder]);
  t.after(() => holder.kill("SIGKILL"));
  await once(holder.stdout, "data");
  const entered = withLock(folder, () => "free", { onWait: () => holder.kill("SIGKILL") });
  assert.equal(await entered, "free");
  assert.equal(holder.killed, true);
});
