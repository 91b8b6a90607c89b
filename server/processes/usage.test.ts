import assert from "node:assert/strict";
import { test } from "node:test";
import type { Sql } from "../store/client.ts";
import { silentLog } from "../store/database.fixture.ts";
import { findLimit } from "../store/users.ts";
import type { Process, ProcessDeps } from "./process.ts";
import { Metering, nextCheckMs } from "./usage.ts";

/** A database that accepts everything, or nothing while it is unreachable. */
function openMetering() {
  const state = { isUnreachable: false, attempts: 0, onWrite: (): void => {} };
  const query = async () => {
    state.attempts += 1;
    state.onWrite();
    if (state.isUnreachable) throw new Error("unreachable");
  };
  const sql = Object.assign(query, { json: (value: unknown) => value }) as unknown as Sql;
  const process = {
    row: { uuid: "p" },
    record: { claim: { uuid: "p", fence: 1 }, runningMs: 0, meteredMs: 0 },
  };
  const deps = { sql, log: silentLog, limits: { saveMs: 60_000 } } as unknown as ProcessDeps;
  const all = [process];
  const metering = new Metering(deps, () => all as unknown as readonly Process[]);
  return { metering, process, all, state };
}

test("writes the totals of all processes in one statement", async () => {
  const { metering, process, all, state } = openMetering();
  all.push({ row: { uuid: "q" }, record: { claim: { uuid: "q", fence: 1 }, runningMs: 7, meteredMs: 0 } });
  process.record.runningMs = 10;
  await metering.flush();
  assert.equal(state.attempts, 1);
  assert.deepEqual(
    all.map(({ record }) => record.meteredMs),
    [10, 7],
  );
});

test("writes a total once, and the latest when the database is reachable again", async () => {
  const { metering, process, state } = openMetering();
  process.record.runningMs = 10;
  await metering.flush();
  await metering.flush();
  assert.equal(state.attempts, 1);
  state.isUnreachable = true;
  process.record.runningMs = 20;
  const attempted = new Promise<void>((resolve) => {
    state.onWrite = resolve;
  });
  const flushed = metering.flush();
  await attempted;
  process.record.runningMs = 30;
  metering.add(process as unknown as Process);
  state.isUnreachable = false;
  await flushed;
  await metering.flush();
  assert.equal(state.attempts, 3, "one that failed, and one with the latest total");
});

test("tries once more when it is closed", async () => {
  const { metering, process, state } = openMetering();
  state.isUnreachable = true;
  process.record.runningMs = 10;
  metering.add(process as unknown as Process);
  await new Promise(setImmediate);
  state.isUnreachable = false;
  await metering.close(60_000);
  assert.equal(state.attempts, 2);
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
