/** Ownership of processes, whatever the database and other nodes do meanwhile. */
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { poll, until } from "../../test/watch.fixture.ts";
import { isAlive } from "../is-alive.ts";
import { ServiceError } from "../service-error.ts";
import { countWaiting } from "../store/claims.ts";
import type { Sql } from "../store/client.ts";
import { openStages, rejectsWith, type Stage } from "./supervisor.fixture.ts";
import type { SupervisorDeps } from "./supervisor.ts";

const { database, stage } = await openStages();
// Not for the nodes of the next test.
afterEach(() => database.sql`delete from processes`);

const unreachable = (): ServiceError => new ServiceError("database_unavailable", { detail: "unreachable" });

interface Faults {
  /** Replaces claiming and renewing; null: they work. */
  insteadOfLeases: (() => Promise<never>) | null;
  /** Transactions are committed, but the response is lost. */
  losesCommits: boolean;
  /** Awaited before a transaction. */
  beforeTransaction?: (() => Promise<void>) | null;
}

type Call = (...given: readonly unknown[]) => unknown;

/** The real database with these faults. */
function breakable(faults: Faults): Sql {
  return new Proxy(database.sql, {
    apply(target, self, given) {
      const [text]: readonly unknown[] = given;
      const isLease = Array.isArray(text) && text.join("").includes("insert into nodes");
      if (isLease && faults.insteadOfLeases !== null) return faults.insteadOfLeases();
      return Reflect.apply(target as unknown as Call, self, given);
    },
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (name !== "begin") return value;
      return async (...given: readonly unknown[]) => {
        await faults.beforeTransaction?.();
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

test("a renewal does not claim what has been started here since it read what it holds", async () => {
  const faults: Faults = { insteadOfLeases: null, losesCommits: false };
  const lease = { renewMs: 600_000 };
  const on = await stage({ lease }, breakable(faults));
  // With a process that is free, a renewal claims.
  const before = await stage({ lease, user: on.user, sourceUuid: on.sourceUuid });
  await before.start();
  await before.supervisor.close();
  let proceed = (): void => {};
  const claiming = new Promise<void>((reach) => {
    faults.beforeTransaction = () => {
      faults.beforeTransaction = null;
      reach();
      return new Promise((resolve) => (proceed = resolve));
    };
  });
  const renewed = on.node.renew();
  await claiming;
  const uuid = await on.start();
  proceed();
  await renewed;
  const [row] = await database.sql<{ fence: number }[]>`select fence from processes where uuid = ${uuid}`;
  assert.equal(row?.fence, 1);
  await poll("the free one is resumed", () => on.supervisor.all.length === 2);
});

test("stops processes that another node runs: one, and all", async () => {
  const first = await stage();
  const { user, sourceUuid } = first;
  const [one, two, three] = [await first.start(), await first.start(), await first.start()];
  const pids = await Promise.all([one, two, three].map(async (uuid) => (await first.inside(uuid)).pid));
  const second = await stage({ user, sourceUuid, isAlone: false });
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
  const second = await stage({ user, sourceUuid, isAlone: false });
  await second.supervisor.stopAll(user);
  await assert.rejects(started, rejectsWith("wrong_state"));
  assert.equal((await rows()).length, 0);
});

test("a stored stop request survives writes of the owner, and the owner", async () => {
  // Renews too rarely to find out.
  const first = await stage({ lease: { leaseSeconds: 1200, renewMs: 600_000 } });
  const { user, sourceUuid } = first;
  const uuid = await first.start();
  const second = await stage({ user, sourceUuid, isAlone: false });
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
  const third = await stage({ user, sourceUuid, isAlone: false });
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

test("resumes several in parallel and renews its lease meanwhile, without resolving their sources yet", async () => {
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
  const lease = async () => {
    const [row] = await database.sql<{ leaseUntil: Date }[]>`
      select max(nodes.lease_until) as lease_until from nodes join processes on node_uuid = nodes.uuid
      where processes.uuid in ${database.sql(uuids)}`;
    return Number(row?.leaseUntil);
  };
  const before = await lease();
  await until(async () => (await lease()) > before);
  letGo();
  const second = await opening;
  await Promise.all(uuids.map((uuid) => second.reach(uuid, "running")));
  assert.deepEqual(calls, [{ isResumed: true }, { isResumed: true }]);
});

/** Cuts the node off from the database for longer than its lease, and a little more. */
async function outlastLease(faults: Faults, leaseSeconds: number): Promise<void> {
  faults.insteadOfLeases = () => Promise.reject(unreachable());
  await new Promise((resolve) => setTimeout(resolve, leaseSeconds * 1000 + 500));
  faults.insteadOfLeases = null;
}

for (const isAlone of [true, false])
  test(`keeps processes through an outage that no other node has used: ${isAlone ? "alone" : "among others"}`, async () => {
    const faults: Faults = { insteadOfLeases: null, losesCommits: false };
    const on = await stage({ lease: { leaseSeconds: 3 }, isAlone }, breakable(faults));
    const uuid = await on.start();
    const { pid } = await on.inside(uuid);
    await outlastLease(faults, 3);
    const [{ leaseUntil } = { leaseUntil: new Date() }] = await database.sql<{ leaseUntil: Date }[]>`
      select lease_until from nodes where uuid = ${on.node.uuid}`;
    await until(async () => {
      const [row] = await database.sql<{ isLater: boolean }[]>`
        select lease_until > ${leaseUntil} as is_later from nodes where uuid = ${on.node.uuid}`;
      return row?.isLater === true;
    });
    assert.equal((await on.inside(uuid)).pid, pid);
    assert.equal((await on.row(uuid))?.fence, 1);
  });

test("gives processes up after a long outage where other nodes exist, and resumes them when it is over", async () => {
  const faults: Faults = { insteadOfLeases: null, losesCommits: false };
  const on = await stage({ lease: { leaseSeconds: 2, holdMs: 3_000 }, isAlone: false }, breakable(faults));
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

test("an outage for everybody gives no node the processes of another", async () => {
  const faults: Faults = { insteadOfLeases: null, losesCommits: false };
  const sql = breakable(faults);
  const lease = { leaseSeconds: 2 };
  const first = await stage({ lease, isAlone: false }, sql);
  const { user, sourceUuid } = first;
  const second = await stage({ user, sourceUuid, lease, isAlone: false }, sql);
  const uuids = [await first.start(), await second.start()];
  await outlastLease(faults, lease.leaseSeconds);
  // A whole lease later each could claim what the other has lost.
  await new Promise((resolve) => setTimeout(resolve, lease.leaseSeconds * 1000 + 1_000));
  const rows = await Promise.all(uuids.map((uuid) => first.row(uuid)));
  assert.deepEqual(
    rows.map((row) => [row?.fence, row?.nodeUuid]),
    [
      [1, first.node.uuid],
      [1, second.node.uuid],
    ],
  );
});

/** Its lease has ended, as if its machine hung: it finds out later, with its next write. */
const lose = ({ node }: Stage): Promise<void> => node.leave();

const countHeld = ({ supervisor }: Stage, uuids: readonly string[]): number =>
  uuids.filter((uuid) => supervisor.held(uuid) !== null).length;

test("the processes of a lost node are spread over the others", async () => {
  const lost = await stage({ isAlone: false });
  const { user, sourceUuid } = lost;
  const uuids = await Promise.all(Array.from({ length: 4 }, () => lost.start()));
  const lease = { leaseSeconds: 2, renewMs: 300 };
  const others = [
    await stage({ user, sourceUuid, lease, isAlone: false }),
    await stage({ user, sourceUuid, lease, isAlone: false }),
  ];
  await Promise.all(others.map(({ node }) => until(() => node.canTakeOver)));
  await lose(lost);
  await until(() => others.reduce((sum, other) => sum + countHeld(other, uuids), 0) === 4);
  assert.deepEqual(
    others.map((other) => countHeld(other, uuids)),
    [2, 2],
  );
});

test("a node takes only what it has room for; the rest waits until there is room", async () => {
  const lost = await stage({ isAlone: false });
  const { user, sourceUuid } = lost;
  const uuids = [await lost.start(), await lost.start(), await lost.start()];
  const lease = { leaseSeconds: 1 };
  const other = await stage({ user, sourceUuid, lease, isAlone: false, facts: { maxProcesses: 2 } });
  await until(() => other.node.canTakeOver);
  await lose(lost);
  await until(() => countHeld(other, uuids) === 2);
  const waiting = () => countWaiting(database.sql);
  await until(async () => (await waiting()) === 1);
  await assert.rejects(other.start(), rejectsWith("capacity_exhausted"));
  const [held = ""] = uuids.filter((uuid) => other.supervisor.held(uuid) !== null);
  await other.supervisor.stop(user, held);
  await until(() => uuids.every((uuid) => uuid === held || other.supervisor.held(uuid) !== null));
  assert.equal(await waiting(), 0);
});

test("a process whose labels no live node has waits, too", async () => {
  const lost = await stage({ isAlone: false });
  const { user, sourceUuid } = lost;
  const uuid = await lost.start();
  await database.sql`update processes set labels = '{"site": "south"}' where uuid = ${uuid}`;
  assert.equal(await countWaiting(database.sql), 0, "it runs");
  const lease = { leaseSeconds: 1 };
  const other = await stage({ user, sourceUuid, lease, isAlone: false, facts: { labels: { site: "north" } } });
  await until(() => other.node.canTakeOver);
  await lose(lost);
  await until(async () => (await countWaiting(database.sql)) === 1);
  assert.equal(countHeld(other, [uuid]), 0);
  other.node.update({ labels: { site: "south" } });
  await until(() => countHeld(other, [uuid]) === 1);
  assert.equal(await countWaiting(database.sql), 0);
});

test("parallel starts never exceed the capacity of a node", async () => {
  const on = await stage({ isAlone: false, facts: { maxProcesses: 3 }, limits: { parallel: 8 } });
  const started = await Promise.allSettled(Array.from({ length: 8 }, () => on.start()));
  assert.equal(started.filter(({ status }) => status === "fulfilled").length, 3);
  for (const result of started) if (result.status === "rejected") rejectsWith("capacity_exhausted")(result.reason);
});

for (const order of ["before", "after"])
  test(`a node that lacks the graph of a process leaves it to another one, and lets it fail ${order} it has declined it`, async () => {
    const lost = await stage({ isAlone: false });
    const { user, sourceUuid } = lost;
    const uuid = await lost.start();
    const lease = { leaseSeconds: 1 };
    const prepare: SupervisorDeps["prepare"] = async ({ graph }) => {
      throw new ServiceError("graph_not_found", { detail: `there is no graph ${graph}` });
    };
    const lacking = await stage({ user, sourceUuid, lease, isAlone: false, needs: { prepare } });
    await until(() => lacking.node.canTakeOver);
    const able = await stage({ user, sourceUuid, lease, isAlone: false });
    await lose(lost);
    await until(() => able.supervisor.held(uuid)?.state === "running");
    assert.equal((await able.row(uuid))?.errorCode, null);
    await able.supervisor.close();
    // Either node may have been the first to claim it.
    const declined = order === "after" ? [lacking.node.uuid] : [];
    await database.sql`update processes set declined_by = ${database.sql.json(declined)} where uuid = ${uuid}`;
    await until(async () => (await lacking.row(uuid))?.state === "failed");
    assert.equal((await lacking.row(uuid))?.errorCode, "graph_not_found");
  });
