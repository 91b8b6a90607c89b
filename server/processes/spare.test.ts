import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { pino } from "pino";
import { SpareRunners } from "./spare.ts";
import { isAlive, SCRIPTED } from "./supervisor.fixture.ts";

const open: SpareRunners[] = [];
afterEach(() => Promise.all(open.splice(0).map((spares) => spares.close())));

function makeSpares(count: number, entry = SCRIPTED): SpareRunners {
  const log = pino({ level: "silent" });
  const spares = new SpareRunners({ entry, log, count, loadMs: 20_000, replyMs: 5000, firstMs: 20, mostMs: 100 });
  open.push(spares);
  spares.fill();
  return spares;
}

test("a runner is had whether one is spare or not, and never the same twice", async () => {
  const spares = makeSpares(1);
  const runners = await Promise.all([spares.take(), spares.take(), spares.take()]);
  assert.equal(new Set(runners.map(({ pid }) => pid)).size, 3);
  for (const runner of runners) runner.kill("the test is over");
  await Promise.all(runners.map(({ gone }) => gone));
});

test("a spare that dies is replaced", async () => {
  const spares = makeSpares(1);
  const first = await spares.take();
  spares.fill();
  first.kill("the test wants it");
  await first.gone;
  const second = await spares.take();
  assert.notEqual(second.pid, first.pid);
  assert.ok(isAlive(second.pid ?? 0));
  second.kill("the test is over");
  await second.gone;
});

test("spares that cannot be loaded are tried again, and told of", async () => {
  const spares = makeSpares(1, new URL("file:///nowhere/runner.mjs"));
  await assert.rejects(spares.take(), /the runner ended with code 1/);
  while (spares.trouble === null) {
    spares.fill();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.match(spares.trouble, /runners died while being loaded/);
});

test("closing leaves no spare behind, and none is had afterwards", async () => {
  const spares = makeSpares(2);
  await spares.close();
  await assert.rejects(spares.take(), /shut down/);
});
