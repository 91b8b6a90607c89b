import assert from "node:assert/strict";
import { test } from "node:test";
import { refusedWith } from "./supervisor.fixture.ts";
import { Turns } from "./turns.ts";

const make = (waitMs = 600_000) => new Turns({ most: 2, waitMs });

/** Takes a turn that ends when it is told to. */
function hold(turns: Turns): () => void {
  let end = (): void => {};
  void turns.take(
    () =>
      new Promise<void>((resolve) => {
        end = resolve;
      }),
  );
  return () => end();
}

test("each waits for those before, whether they do or fail", async () => {
  const turns = make();
  const order: number[] = [];
  const first = turns.take(async () => {
    await new Promise((resolve) => setImmediate(resolve));
    order.push(1);
    throw new Error("no");
  });
  const second = turns.take(async () => order.push(2));
  await assert.rejects(first, /no/);
  await second;
  assert.deepEqual(order, [1, 2]);
});

test("whoever comes when as many wait as may is refused; what must be done is done all the same", async () => {
  const turns = make();
  const release = hold(turns);
  await new Promise((resolve) => setImmediate(resolve));
  const waiting = [turns.take(async () => 1), turns.take(async () => 2)];
  await assert.rejects(
    turns.take(async () => 3),
    refusedWith("rate_limited"),
  );
  const sure = turns.takeSurely(async () => 4);
  release();
  assert.deepEqual(await Promise.all([...waiting, sure]), [1, 2, 4]);
});

test("whose turn does not come in time is refused then, and never acts", async () => {
  const turns = make(20);
  const release = hold(turns);
  let acted = false;
  await assert.rejects(
    turns.take(async () => {
      acted = true;
    }),
    refusedWith("rate_limited"),
  );
  release();
  await turns.takeSurely(async () => {});
  assert.equal(acted, false);
});
