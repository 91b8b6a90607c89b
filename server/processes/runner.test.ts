import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { pino } from "pino";
import { until } from "../../test/watch.fixture.ts";
import { testConfinement } from "../confinement/confinement.fixture.ts";
import { isAlive } from "../is-alive.ts";
import { type Runner, RunnerPool } from "./runner.ts";
import { SCRIPTED } from "./supervisor.fixture.ts";

const confinement = await testConfinement();
const open: RunnerPool[] = [];
const taken: Runner[] = [];
afterEach(async () => {
  delete process.env.SCRIPTED_HELLO;
  for (const runner of taken) runner.kill("the test is over");
  await Promise.all([...taken.splice(0).map(({ child }) => child.gone), ...open.splice(0).map((pool) => pool.close())]);
});

function openPool(count: number, entry = SCRIPTED): RunnerPool {
  const log = pino({ level: "silent" });
  const pool = new RunnerPool({
    ...{ entry, confinement, log, count, parallel: 1, loadMs: 20_000, replyMs: 5000, firstMs: 20, maxMs: 100 },
    ...{ memoryBytes: 2 ** 30, folders: null, writes: [], stopMs: 5000, silentMs: 5000 },
  });
  open.push(pool);
  pool.fill();
  return pool;
}

async function take(pool: RunnerPool): Promise<Runner> {
  const runner = await pool.take(new AbortController().signal);
  taken.push(runner);
  return runner;
}

/** Children of this process, until they have exited. */
const countRunners = (): number => process.getActiveResourcesInfo().filter((name) => name === "ProcessWrap").length;

test("every caller gets a runner of its own, whether one is idle or not", async () => {
  const pool = openPool(1);
  const runners = await Promise.all([take(pool), take(pool), take(pool)]);
  assert.equal(new Set(runners.map(({ pid }) => pid)).size, 3);
});

test("replaces an idle runner that ends", async () => {
  const pool = openPool(1);
  await until(() => pool.idlePids.length === 1);
  const [first = 0] = pool.idlePids;
  process.kill(first, "SIGKILL");
  // Without a caller.
  await until(() => pool.idlePids.some((pid) => pid !== first));
  const second = await take(pool);
  assert.notEqual(second.pid, first);
  assert.ok(isAlive(second.pid ?? 0));
});

test("retries to load runners, and reports when that fails repeatedly", async () => {
  const pool = openPool(1, new URL("file:///nowhere/runner.mjs"));
  await assert.rejects(take(pool), /the runner ended with code 1/);
  await until(() => {
    pool.fill();
    return pool.trouble !== null;
  });
  assert.match(pool.trouble ?? "", /runners ended while loading or idle/);
});

test("a runner whose caller gave up stays idle where there is room, and is killed otherwise", async () => {
  for (const count of [1, 0]) {
    const pool = openPool(count);
    const waiting = new AbortController();
    const taking = pool.take(waiting.signal);
    waiting.abort(new Error("not wanted"));
    await assert.rejects(taking, /not wanted/);
    if (count === 1) await until(() => pool.idlePids.length === 1);
    else await until(() => countRunners() === 0);
    await pool.close();
  }
});

test("close kills every runner, also one that a caller waits for, and rejects later callers", async () => {
  process.env.SCRIPTED_HELLO = "never";
  const pool = openPool(2);
  const taking = assert.rejects(take(pool), /shutting down/);
  assert.equal(countRunners(), 2);
  await pool.close();
  await taking;
  await until(() => countRunners() === 0);
  await assert.rejects(take(pool), /shutting down/);
});
