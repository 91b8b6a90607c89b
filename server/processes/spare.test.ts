import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { pino } from "pino";
import { isAlive } from "../is-alive.ts";
import { testConfinement } from "./confinement.fixture.ts";
import type { Runner } from "./runner.ts";
import { SpareRunners } from "./spare.ts";
import { SCRIPTED } from "./supervisor.fixture.ts";

const confinement = await testConfinement();
const open: SpareRunners[] = [];
const taken: Runner[] = [];
afterEach(async () => {
  delete process.env.SCRIPTED_HELLO;
  for (const runner of taken) runner.kill("the test is over");
  await Promise.all([...taken.splice(0).map(({ gone }) => gone), ...open.splice(0).map((spares) => spares.close())]);
});

function makeSpares(count: number, entry = SCRIPTED): SpareRunners {
  const log = pino({ level: "silent" });
  const spares = new SpareRunners({
    ...{ entry, confinement, log, count, loadMs: 20_000, replyMs: 5000, firstMs: 20, maxMs: 100 },
    ...{ memoryBytes: 2 ** 30, folders: null, writes: [] },
  });
  open.push(spares);
  spares.fill();
  return spares;
}

async function take(spares: SpareRunners): Promise<Runner> {
  const runner = await spares.take(new AbortController().signal);
  taken.push(runner);
  return runner;
}

/** Children of this process: runners, until they are gone. */
const countRunners = (): number => process.getActiveResourcesInfo().filter((name) => name === "ProcessWrap").length;

test("a runner is had whether one is spare or not, and never the same twice", async () => {
  const spares = makeSpares(1);
  const runners = await Promise.all([take(spares), take(spares), take(spares)]);
  assert.equal(new Set(runners.map(({ pid }) => pid)).size, 3);
});

test("a spare that dies while it waits is replaced by another", async () => {
  const spares = makeSpares(1);
  await until(() => spares.pids.length === 1);
  const [first = 0] = spares.pids;
  process.kill(first, "SIGKILL");
  // Nobody asks for it: it is replaced by itself.
  await until(() => spares.pids.some((pid) => pid !== first));
  const second = await take(spares);
  assert.notEqual(second.pid, first);
  assert.ok(isAlive(second.pid ?? 0));
});

test("spares that cannot be loaded are tried again, and told of", async () => {
  const spares = makeSpares(1, new URL("file:///nowhere/runner.mjs"));
  await assert.rejects(take(spares), /the runner ended with code 1/);
  await until(() => {
    spares.fill();
    return spares.trouble !== null;
  });
  assert.match(spares.trouble ?? "", /runners died while being loaded/);
});

test("a runner that is not waited for any more is kept as a spare, where there is room, and else ended", async () => {
  for (const count of [1, 0]) {
    const spares = makeSpares(count);
    const waiting = new AbortController();
    const taking = spares.take(waiting.signal);
    waiting.abort(new Error("not wanted"));
    await assert.rejects(taking, /not wanted/);
    if (count === 1) await until(() => spares.pids.length === 1);
    else await until(() => countRunners() === 0);
    await spares.close();
  }
});

test("closing ends every runner, also one that somebody waits for, and none is had afterwards", async () => {
  process.env.SCRIPTED_HELLO = "never";
  const spares = makeSpares(2);
  const taking = assert.rejects(take(spares), /shut down/);
  assert.equal(countRunners(), 2);
  await spares.close();
  await taking;
  await until(() => countRunners() === 0);
  await assert.rejects(take(spares), /shut down/);
});

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 5));
}
