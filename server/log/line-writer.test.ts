import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { closeSync, constants, openSync, readFileSync, readSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { LineWriter } from "./line-writer.ts";

const LINE = `${"x".repeat(999)}\n`;

/** Reads what is available. */
function take(descriptor: number, chunk: Buffer): string {
  try {
    return chunk.toString("latin1", 0, readSync(descriptor, chunk));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EAGAIN") return "";
    throw error;
  }
}

test("writes lines in order, after a while and on drain", async () => {
  const folder = await mkdtemp(join(tmpdir(), "windhover-log-"));
  const path = join(folder, "log");
  const descriptor = openSync(path, "w");
  const written = () => readFileSync(path, "utf8");
  try {
    const writer = new LineWriter(descriptor, () => "");
    for (const line of ["1\n", "2\n", "é\n"]) writer.write(line);
    assert.equal(written(), "");
    while (written() === "") await new Promise((resolve) => setImmediate(resolve));
    assert.equal(written(), "1\n2\né\n");
    writer.write("4\n");
    await writer.drain(60_000);
    assert.equal(written(), "1\n2\né\n4\n");
    writer.write("5\n");
    writer.drainNow();
    assert.equal(written(), "1\n2\né\n4\n5\n");
    await writer.drain(60_000);
    assert.equal(written(), "1\n2\né\n4\n5\n");
  } finally {
    closeSync(descriptor);
    await rm(folder, { recursive: true });
  }
});

test("a stalled reader blocks nothing, and gets the number of lost lines when it reads again", async () => {
  const folder = await mkdtemp(join(tmpdir(), "windhover-log-"));
  const path = join(folder, "pipe");
  execFileSync("mkfifo", [path]);
  const descriptor = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  try {
    const writer = new LineWriter(descriptor, (lines) => `lost ${lines}\n`);
    const written = 10_000;
    for (let i = 0; i < written; i++) writer.write(LINE);
    await writer.drain(1);
    const chunk = Buffer.alloc(1 << 20);
    let read = "";
    let isDrained = false;
    const drained = writer.drain(60_000).then(() => {
      isDrained = true;
    });
    while (!isDrained) {
      read += take(descriptor, chunk);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await drained;
    writer.write("last\n");
    await writer.drain(60_000);
    read += take(descriptor, chunk) + take(descriptor, chunk);
    const lines = read.split("\n").slice(0, -1);
    const kept = lines.filter((line) => `${line}\n` === LINE).length;
    assert.ok(kept > 1000 && kept < written, `${kept} lines were kept`);
    assert.deepEqual(lines.slice(kept), [`lost ${written - kept}`, "last"]);
  } finally {
    closeSync(descriptor);
    await rm(folder, { recursive: true });
  }
});

test("a write error ends the log and nothing else", async () => {
  const descriptor = openSync("/dev/full", "w");
  try {
    const writer = new LineWriter(descriptor, () => "");
    for (let i = 0; i < 10; i++) writer.write(LINE);
    await writer.drain(60_000);
    writer.write(LINE);
    writer.drainNow();
  } finally {
    closeSync(descriptor);
  }
});
