import assert from "node:assert/strict";
import { test } from "node:test";
import type { Sql } from "../store/client.ts";
import { silentLog } from "../store/database.fixture.ts";
import { findLimit, nextCheckMs, UsageWriter } from "./usage.ts";

/** Accepts everything, or nothing while it is unreachable. */
function openWriter() {
  const state = { isUnreachable: false, attempts: 0, onWrite: (): void => {} };
  const query = async () => {
    state.attempts += 1;
    state.onWrite();
    if (state.isUnreachable) throw new Error("unreachable");
  };
  const sql = Object.assign(query, { json: (value: unknown) => value }) as unknown as Sql;
  return { writer: new UsageWriter(sql, silentLog), state };
}

const entry = (runningMs: number) => ({ processUuid: "p", fence: 1, runningMs });

test("keeps nothing of a claim that has ended once its last total is written", async () => {
  const { writer, state } = openWriter();
  writer.add(entry(10));
  await writer.idle();
  assert.equal(writer.size, 1);
  state.isUnreachable = true;
  const attempted = new Promise<void>((resolve) => {
    state.onWrite = resolve;
  });
  writer.addLast(entry(20));
  await attempted;
  await new Promise(setImmediate);
  assert.equal(writer.size, 1, "what is not written is kept");
  state.isUnreachable = false;
  await writer.idle();
  assert.equal(writer.size, 0);
});

test("forgets a claim whose last total was written before it ended, and writes no total twice", async () => {
  const { writer, state } = openWriter();
  writer.add(entry(10));
  await writer.idle();
  writer.add(entry(10));
  writer.addLast(entry(10));
  await writer.idle();
  assert.deepEqual([writer.size, state.attempts], [0, 1]);
});

test("tries once more when it is closed", async () => {
  const { writer, state } = openWriter();
  state.isUnreachable = true;
  writer.add(entry(10));
  await new Promise(setImmediate);
  state.isUnreachable = false;
  await writer.close();
  assert.deepEqual([writer.size, state.attempts], [1, 2]);
  writer.addLast(entry(10));
  assert.equal(writer.size, 0);
});

test("finds why the processes of a user must stop", () => {
  const fine = { remainingMs: 1, isExpired: false, isRevoked: false };
  const cases = [
    [fine, undefined],
    [{ ...fine, remainingMs: null }, undefined],
    [{ ...fine, remainingMs: 0 }, "usage_limit_reached"],
    [{ ...fine, isExpired: true }, "api_key_expired"],
    [{ ...fine, isRevoked: true }, "api_key_invalid"],
  ] as const;
  for (const [standing, code] of cases) assert.equal(findLimit(standing)?.code, code);
});

test("checks again when the first minutes can be used up, by the number of processes that use them", () => {
  const check = (...users: Parameters<typeof nextCheckMs>[0]) => nextCheckMs(users, 200, 5000);
  assert.equal(check(), 5000);
  assert.equal(check({ remainingMs: null, running: 4 }), 5000);
  assert.equal(check({ remainingMs: 60_000, running: 4 }), 5000);
  assert.equal(check({ remainingMs: 4000, running: 4 }, { remainingMs: 3000, running: 1 }), 1000);
  assert.equal(check({ remainingMs: 4000, running: 0 }), 5000);
  assert.equal(check({ remainingMs: 1, running: 1 }), 200);
});
