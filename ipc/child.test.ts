import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { afterEach, test } from "node:test";
import { pino } from "pino";
import { Type } from "typebox";
import { runChild } from "../test/child.fixture.ts";
import { NoReply, RequestRejected } from "./channel.ts";
import { Child, describeExit } from "./child.ts";

type Out = { type: "echo"; id: number; value: string | number } | { type: "count" } | { type: "leave"; code: number };
type In = { type: "counted"; count: number } | { type: "ask"; id: number };

const { file: ENTRY, execArgv } = runChild(new URL("echo.child.ts", import.meta.url));
const LONG_MS = 60_000;
const children: Child<Out, In>[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) {
    child.kill("the test is over");
    await child.gone;
  }
});

function start(mode = "usual", more: Partial<{ loadMs: number; memoryBytes: number }> = {}) {
  const received: In[] = [];
  const child = new Child<Out, In>({
    name: "the echo",
    spawn: () => fork(ENTRY, [mode], { execArgv, stdio: ["ignore", "pipe", "pipe", "ipc"] }),
    protocol: 2,
    receives: Type.Union([
      Type.Object({ type: Type.Literal("counted"), count: Type.Integer() }),
      Type.Object({ type: Type.Literal("ask"), id: Type.Integer() }),
    ]),
    log: pino({ level: "silent" }),
    loadMs: LONG_MS,
    onMessage: (message) => void received.push(message),
    onRequest: async () => "answered",
    ...more,
  });
  children.push(child);
  return { child, received };
}

test("loads, replies to requests in either direction, and ends with its code", async () => {
  const { child, received } = start();
  await child.loaded;
  assert.equal(await child.request({ type: "echo", value: 7 }, LONG_MS), 7);
  assert.equal(await child.request({ type: "echo", value: "ask" }, LONG_MS), "answered");
  child.send({ type: "count" });
  child.send({ type: "leave", code: 3 });
  assert.deepEqual(await child.gone, { code: 3, signal: null, reason: null });
  assert.deepEqual(
    received,
    [1, 2, 3, 4, 5].map((count) => ({ type: "counted", count })),
  );
  assert.deepEqual(child.lastLines, ["ready at rtsp://***@camera/"]);
});

test("rejects a request with the reason of the child, without credentials", async () => {
  const { child } = start();
  await child.loaded;
  await assert.rejects(child.request({ type: "echo", value: "fail" }, LONG_MS), (error: RequestRejected) => {
    assert.ok(error instanceof RequestRejected);
    assert.deepEqual([error.kind, error.message], ["failed", "cannot read rtsp://***@camera/"]);
    return true;
  });
  const invalid = child.request({ type: "echo", value: true as never }, LONG_MS);
  await assert.rejects(invalid, { kind: "invalid", message: /"echo": \/value is true/ });
});

test("gives up a request that is not replied to in time, and one whose child ends", async () => {
  const { child } = start();
  await child.loaded;
  await assert.rejects(child.request({ type: "echo", value: "never" }, 10), NoReply);
  const open = child.request({ type: "echo", value: "never" }, LONG_MS);
  child.kill("enough");
  await assert.rejects(open, NoReply);
  assert.equal(describeExit("the echo", await child.gone), "the echo was killed: enough");
  await assert.rejects(child.request({ type: "echo", value: 1 }, LONG_MS), NoReply);
});

test("kills a child that is not loaded in time, of another version, or that sends an invalid message", async () => {
  const silent = start("silent", { loadMs: 50 }).child;
  await assert.rejects(silent.loaded, /was not loaded within 0.05 s/);
  await assert.rejects(start("old").child.loaded, /uses version 1 of its messages, the server version 2/);
  const { child } = start();
  await child.loaded;
  child.request({ type: "echo", value: "garbage" }, LONG_MS).catch(() => {});
  assert.match((await child.gone).reason ?? "", /invalid message: .*unknown type; expected one of hello, counted, ask/);
});

test("kills a child that uses too much memory", async () => {
  const { child } = start("large", { memoryBytes: 300 * 2 ** 20 });
  assert.match((await child.gone).reason ?? "", /it used \d+ MiB; the limit is 300 MiB/);
});
