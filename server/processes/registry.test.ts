/** Ownership of processes, whatever the database and other nodes do meanwhile. */
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { isAlive } from "../is-alive.ts";
import { ServiceError } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import { type TestDatabase, testDatabase } from "../store/database.fixture.ts";
import { openStage, rejectsWith, type Stage, type StageOptions } from "./supervisor.fixture.ts";
import type { SupervisorDeps } from "./supervisor.ts";

let database: TestDatabase;
const open: Stage[] = [];
before(async () => {
  database = await testDatabase();
});
afterEach(async () => {
  await Promise.all(open.splice(0).map(({ supervisor }) => supervisor.close()));
});
after(() => database.close());

async function stage(options: StageOptions = {}, sql: Sql = database.sql): Promise<Stage> {
  const opened = await openStage(sql, options);
  open.push(opened);
  return opened;
}

async function until(isSo: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 10));
}

const unreachable = (): ServiceError => new ServiceError("database_unavailable", { detail: "unreachable" });

interface Faults {
  /** Replaces claiming and renewing; null: they work. */
  insteadOfLeases: (() => Promise<never>) | null;
  /** Transactions are committed, but the response is lost. */
  losesCommits: boolean;
}

type Call = (...given: readonly unknown[]) => unknown;

/** The real database with these faults. */
function breakable(faults: Faults): Sql {
  return new Proxy(database.sql, {
    apply(target, self, given) {
      const [text]: readonly unknown[] = given;
      const isLease = Array.isArray(text) && text.join("").includes("lease_until = now()");
      if (isLease && faults.insteadOfLeases !== null) return faults.insteadOfLeases();
      return Reflect.apply(target as unknown as Call, self, given);
    },
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (name !== "begin") return value;
      return async (...given: readonly unknown[]) => {
        const result = await Reflect.apply(value as Call, target, given);
        if (faults.losesCommits) throw unreachable();
        return result;
      };
    },
  });
}

test("a start whose commit response is lost leaves nothing", async () => {
  const faults: Faults = { insteadOfLeases: null, losesCommits: false };
  const on = await stage({}, breakable(faults));
  faults.losesCommits = true;
  await assert.rejects(on.start(), rejectsWith("database_unavailable"));
  faults.losesCommits = false;
  assert.equal((await database.sql`select from processes where user_uuid = ${on.user.uuid}`).length, 0);
});

test("stops processes that another node runs: one, and all", async () => {
  const first = await stage();
  const { user, sourceUuid } = first;
  const [one, two, three] = [await first.start(), await first.start(), await first.start()];
  const pids = await Promise.all([one, two, three].map(async (uuid) => (await first.inside(uuid)).pid));
  const second = await stage({ user, sourceUuid, needs: { isAlone: false } });
  await second.supervisor.stop(user, one);
  assert.deepEqual(pids.map(isAlive), [false, true, true]);
  const four = await second.start();
  assert.deepEqual([...(await second.supervisor.stopAll(user))].sort(), [two, three, four].sort());
  assert.deepEqual(pids.map(isAlive), [false, false, false]);
  for (const uuid of [one, two, three, four]) {
    const row = await first.row(uuid);
    assert.deepEqual([row?.state, row?.desired, row?.errorCode], ["finished", "stopped", null]);
  }
  assert.deepEqual(await second.supervisor.stopAll(user), []);
});

test("stops a start in progress on another node", async () => {
  const first = await stage();
  const { user, sourceUuid } = first;
  const started = first.start({ flows: false });
  started.catch(() => {});
  const rows = () => database.sql`select from processes where user_uuid = ${user.uuid}`;
  await until(async () => (await rows()).length === 1);
  const second = await stage({ user, sourceUuid, needs: { isAlone: false } });
  await second.supervisor.stopAll(user);
  await assert.rejects(started, rejectsWith("wrong_state"));
  assert.equal((await rows()).length, 0);
});

test("a stored stop request survives writes of the owner, and the owner", async () => {
  // Renews too rarely to find out.
  const first = await stage({ limits: { leaseSeconds: 1200, renewMs: 600_000 } });
  const { user, sourceUuid } = first;
  const uuid = await first.start();
  const second = await stage({ user, sourceUuid, needs: { isAlone: false } });
  const stopped = second.supervisor.stop(user, uuid);
  await until(async () => (await first.row(uuid))?.desired === "stopped");
  await first.supervisor.setProperties(user, uuid, { detect: { confidence: 0.5 } });
  const row = await first.row(uuid);
  assert.deepEqual([row?.state, row?.desired], ["running", "stopped"]);
  assert.deepEqual(row?.live, { detect: { confidence: 0.5 } });
  await first.supervisor.close();
  await stopped;
  assert.equal((await first.row(uuid))?.state, "finished");
});

test("stops from another node what a node has claimed and not resumed yet", async () => {
  const first = await stage();
  const { user, sourceUuid } = first;
  const uuid = await first.start();
  await first.supervisor.close();
  let isUnreachable = true;
  const prepare: SupervisorDeps["prepare"] = async ({ params }) => {
    if (isUnreachable) throw unreachable();
    return { params, offers: new Set(), slots: {} };
  };
  await stage({ user, sourceUuid, needs: { prepare } });
  const third = await stage({ user, sourceUuid, needs: { isAlone: false } });
  const stopped = third.supervisor.stop(user, uuid);
  await until(async () => (await first.row(uuid))?.desired === "stopped");
  isUnreachable = false;
  await stopped;
  assert.equal((await first.row(uuid))?.state, "finished");
});

test("a hanging database does not delay stopping runners at shutdown", async () => {
  const faults: Faults = { insteadOfLeases: null, losesCommits: false };
  const on = await stage({}, breakable(faults));
  const { pid } = await on.inside(await on.start());
  let fail = (_: Error): void => {};
  const hanging = new Promise<never>((_, reject) => {
    fail = reject;
  });
  let isHanging = false;
  faults.insteadOfLeases = () => {
    isHanging = true;
    return hanging;
  };
  await until(() => isHanging);
  const closing = on.supervisor.close();
  await until(() => !isAlive(pid));
  fail(unreachable());
  await closing;
});

test("resumes several in parallel and renews their claims meanwhile, without resolving their sources yet", async () => {
  const first = await stage();
  const { user, sourceUuid } = first;
  const uuids = [await first.start(), await first.start()];
  await first.supervisor.close();
  let letGo = (): void => {};
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const calls: unknown[] = [];
  const resolveInput: SupervisorDeps["resolveInput"] = async (userUuid, _source, how) => {
    // Processes of other tests are resumed as well.
    if (userUuid === user.uuid) calls.push(how);
    await held;
    const uri = "rtsp://camera/";
    return { uri, isFile: false, label: uri, telemetry: null, locate: async () => uri };
  };
  const opening = stage({ user, sourceUuid, needs: { resolveInput } });
  await until(() => calls.length === 2);
  const leases = async () =>
    (await database.sql`select lease_until from processes where uuid in ${database.sql(uuids)} order by uuid`).map(
      ({ leaseUntil }) => Number(leaseUntil),
    );
  const before = await leases();
  await until(async () => (await leases()).every((lease, at) => lease > Number(before[at])));
  letGo();
  const second = await opening;
  await Promise.all(uuids.map((uuid) => second.reach(uuid, "running")));
  assert.deepEqual(calls, [{ isResumed: true }, { isResumed: true }]);
});

test("gives up what cannot be renewed in time where other nodes exist, and resumes it when it is free", async () => {
  const faults: Faults = { insteadOfLeases: null, losesCommits: false };
  const on = await stage({ limits: { leaseSeconds: 3 }, needs: { isAlone: false } }, breakable(faults));
  const uuid = await on.start();
  const { pid } = await on.inside(uuid);
  faults.insteadOfLeases = () => Promise.reject(unreachable());
  await until(() => !isAlive(pid));
  const row = await on.row(uuid);
  assert.deepEqual([row?.state, row?.desired, row?.fence], ["running", "running", 1]);
  faults.insteadOfLeases = null;
  await until(async () => (await on.row(uuid))?.fence === 2);
  await until(() => on.supervisor.held(uuid)?.state === "running");
  assert.notEqual((await on.inside(uuid)).pid, pid);
});

test("keeps running what cannot be renewed where no other node exists", async () => {
  const faults: Faults = { insteadOfLeases: null, losesCommits: false };
  // Long enough for a start on a busy machine.
  const on = await stage({ limits: { leaseSeconds: 3 } }, breakable(faults));
  const uuid = await on.start();
  const { pid } = await on.inside(uuid);
  faults.insteadOfLeases = () => Promise.reject(unreachable());
  const isOver = async () =>
    (await database.sql`select from processes where uuid = ${uuid} and lease_until < now() - interval '0.5 s'`)
      .length === 1;
  await until(isOver);
  faults.insteadOfLeases = null;
  await until(async () => !(await isOver()));
  assert.equal((await on.inside(uuid)).pid, pid);
  assert.equal((await on.row(uuid))?.fence, 1);
});
