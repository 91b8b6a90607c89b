/** Commands to a process while its runner or the database fail. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "../service-error.ts";
import { addOutput, openStages, rejectsWith } from "./supervisor.fixture.ts";

const { database, stage } = await openStages();

for (const desired of ["running", "paused"] as const)
  test(`fails a ${desired} process whose properties cannot be restored`, async () => {
    const settings = { RUNNERS_RESTARTS: "1" };
    const first = await stage({ settings });
    const { user, sourceUuid, supervisor } = first;
    const uuid = await first.start();
    if (desired === "paused") await supervisor.pause(user, uuid);
    await supervisor.close();
    await database.sql`update processes set live = '{"missing": {}}' where uuid = ${uuid}`;
    const second = await stage({ user, sourceUuid, settings });
    await second.supervisor.held(uuid)?.ended;
    const row = await second.row(uuid);
    assert.deepEqual([row?.state, row?.errorCode, row?.restarts], ["failed", "pipeline_failed", 1]);
    assert.match(row?.errorDetail ?? "", /its state could not be restored: there is no node missing/);
  });

test("a stop does not wait for a runner that is loading", async () => {
  const on = await stage({ limits: { loadMs: 600_000 } });
  const uuid = await on.start();
  const { pid } = await on.inside(uuid);
  const restarting = on.waitFor(uuid, ({ type }) => type === "restarting");
  process.env.SCRIPTED_HELLO = "never";
  try {
    process.kill(pid, "SIGKILL");
    await restarting;
    // The one that never becomes ready.
    while (countRunners() === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    await on.supervisor.stop(on.user, uuid);
  } finally {
    delete process.env.SCRIPTED_HELLO;
  }
  assert.equal((await on.row(uuid))?.state, "finished");
  while (countRunners() > 0) await new Promise((resolve) => setTimeout(resolve, 10));
});

const countRunners = (): number => process.getActiveResourcesInfo().filter((name) => name === "ProcessWrap").length;

test("repairs an attach whose commit response was lost when it is retried", async () => {
  let isLost = false;
  const sql = new Proxy(database.sql, {
    get: (target, name) => {
      const value = Reflect.get(target, name);
      if (name !== "begin") return value;
      return async (...given: unknown[]) => {
        const result = await Reflect.apply(value as (...given: unknown[]) => Promise<unknown>, target, given);
        if (isLost) throw new ServiceError("database_unavailable", { detail: "response lost" });
        return result;
      };
    },
  });
  const on = await stage({}, sql);
  const uuid = await on.start();
  const output = await addOutput(database.sql, on.user, "rtmp");
  isLost = true;
  await assert.rejects(on.supervisor.attach(on.user, uuid, output), rejectsWith("database_unavailable"));
  isLost = false;
  await on.supervisor.attach(on.user, uuid, output);
  assert.deepEqual((await on.inside(uuid)).attached, { [output]: "rtmp" });
  await on.supervisor.detach(on.user, uuid, output);
  assert.deepEqual((await on.inside(uuid)).attached, {});
  assert.deepEqual((await on.row(uuid))?.outputs, []);
});

test("limits the number of waiting commands, and rejects others with a retry delay", async () => {
  const { supervisor, user, start } = await stage({ limits: { replyMs: 600_000 } });
  const uuid = await start({ ignoresPause: true });
  const paused = assert.rejects(supervisor.pause(user, uuid), rejectsWith("wrong_state"));
  const asked = Promise.allSettled(Array.from({ length: 100 }, () => supervisor.describe(user, uuid, "json")));
  await assert.rejects(supervisor.describe(user, uuid, "json"), { code: "rate_limited", retryAfterSeconds: 1 });
  await supervisor.stop(user, uuid);
  await paused;
  const codes = (await asked).map((one) => (one.status === "rejected" ? one.reason.code : one.status));
  assert.deepEqual(new Set(codes), new Set(["rate_limited", "wrong_state"]));
});

test("attaches the feed once for many viewers that arrive together", async () => {
  const { supervisor, user, start, inside } = await stage();
  const uuid = await start();
  const leaves = await Promise.all(Array.from({ length: 100 }, () => supervisor.watch(user, uuid, "feed", () => {})));
  assert.deepEqual((await inside(uuid)).attached, { feed: "feed" });
  await Promise.all(leaves.map((leave) => leave()));
  assert.deepEqual((await inside(uuid)).attached, {});
});
