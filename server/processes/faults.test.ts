/** A fault in a runner restarts its process and affects nothing else; another server resumes what one leaves. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../../test/watch.fixture.ts";
import { isAlive } from "../is-alive.ts";
import { ServiceError } from "../service-error.ts";
import { newUuid } from "../uuid.ts";
import type { ProcessNotice, ProcessState } from "./processes.ts";
import { addOutput, openStages, rejectsWith, type Stage } from "./supervisor.fixture.ts";
import type { SupervisorDeps } from "./supervisor.ts";

const { database, stage } = await openStages();

/** The states from now on, up to `last`. */
async function statesUntil({ waitFor }: Stage, uuid: string, last: ProcessState): Promise<readonly string[]> {
  const states: string[] = [];
  await waitFor(uuid, (notice) => {
    if (notice.type === "state") states.push(notice.state);
    else if (notice.type === "restarting") states.push(notice.type);
    return notice.type === "state" && notice.state === last && states.length > 1;
  });
  return states;
}

const highestTrack = async ({ waitFor }: Stage, uuid: string): Promise<number> => {
  const notice = (await waitFor(uuid, ({ type }) => type === "message")) as ProcessNotice & { type: "message" };
  const [track] = notice.message.active_tracks as unknown as [{ track_id: number }];
  return track.track_id;
};

test("replaces a runner that is killed: same uuid, outputs and properties, higher track ids, its tracks, same position", async () => {
  const on = await stage({ isFile: true, hasProcesses: true });
  const { supervisor, user, start, inside, row } = on;
  const uuid = await start();
  const output = await addOutput(database.sql, user, "rtmp");
  await supervisor.attach(user, uuid, output);
  await supervisor.setProperties(user, uuid, { detect: { confidence: 0.5 } });
  const leave = await supervisor.watch(user, uuid, "feed", () => {});
  const before = await inside(uuid);
  // Its position follows the message: with the next one it has arrived.
  await highestTrack(on, uuid);
  const track = await highestTrack(on, uuid);
  const states = statesUntil(on, uuid, "running");
  process.kill(before.pid, "SIGKILL");
  assert.deepEqual(await states, ["running", "restarting", "running"]);
  const after = await inside(uuid);
  assert.notEqual(after.pid, before.pid);
  assert.equal(isAlive(before.pid), false);
  assert.deepEqual(after.attached, { [output]: "rtmp", feed: "feed" });
  assert.deepEqual(after.live, { detect: { confidence: 0.5 } });
  const first = Number(after.job.firstTrackId);
  assert.ok(first > track);
  assert.deepEqual(after.job.kept, { track: `tracks up to ${first - 1}` });
  assert.ok(BigInt(String(after.job.positionNs)) > 0n);
  assert.equal(after.job.epochMs, (await row(uuid))?.startedAt?.getTime());
  assert.equal(supervisor.view(uuid)?.restarts, 1);
  // Written after subscribers were notified.
  await until(async () => (await row(uuid))?.restarts === 1);
  await leave();
});

test("pauses a paused process again after its runner is killed", async () => {
  const on = await stage();
  const { supervisor, user, start, inside } = on;
  const uuid = await start();
  await supervisor.pause(user, uuid);
  const { pid } = await inside(uuid);
  const states = statesUntil(on, uuid, "paused");
  process.kill(pid, "SIGKILL");
  assert.deepEqual(await states, ["paused", "restarting", "paused"]);
  assert.equal((await inside(uuid)).state, "paused");
  await supervisor.resume(user, uuid);
});

for (const [what, script, settings] of [
  ["exits by itself", { exitAt: 3 }, {}],
  ["sends an invalid message", { garbageAt: 3 }, {}],
  ["hangs", { hangAt: 3 }, {}],
  ["exceeds its memory limit", { growsAt: 3 }, { RUNNERS_MEMORY_BYTES: String(2 ** 28) }],
] as const)
  test(`restarts a runner that ${what}, and fails the process when that happens too often`, async () => {
    const { start, ended } = await stage({
      settings: { RUNNERS_RESTARTS: "1", ...settings },
      limits: { silentMs: 2_000 },
      hasProcesses: true,
    });
    const failed = await ended(await start(script));
    assert.deepEqual([failed?.state, failed?.errorCode, failed?.restarts], ["failed", "pipeline_failed", 1]);
    assert.match(failed?.errorDetail ?? "", /crashed more than 1 times within 300 s; the last time: the runner/);
  });

test("a crash of one process does not affect another", async () => {
  const on = await stage();
  const [one, other] = await Promise.all([on.start(), on.start()]);
  const before = await on.inside(other);
  const states = statesUntil(on, one, "running");
  process.kill((await on.inside(one)).pid, "SIGKILL");
  await states;
  assert.equal((await on.inside(other)).pid, before.pid);
  assert.equal(on.supervisor.view(other)?.restarts, 0);
});

test("fails a process whose live source is given up, without showing its password", async () => {
  const { start, ended } = await stage();
  const failed = await ended(await start({ loseSourceAt: 5 }));
  assert.deepEqual([failed?.errorCode, failed?.errorDetail], ["source_not_live", "rtsp://***@camera/ is gone"]);
});

test("stops, but does not pause, a process that waits for its restart", async () => {
  const on = await stage({
    settings: { RUNNERS_RESTART_MOST_SECONDS: "600" },
    limits: { restartFirstMs: 600_000 },
  });
  const uuid = await on.start();
  const starting = on.waitFor(uuid, (notice) => notice.type === "restarting");
  process.kill((await on.inside(uuid)).pid, "SIGKILL");
  await starting;
  assert.equal(on.supervisor.view(uuid)?.state, "running");
  await assert.rejects(on.supervisor.pause(on.user, uuid), rejectsWith("wrong_state"));
  await on.supervisor.stop(on.user, uuid);
  assert.equal((await on.row(uuid))?.state, "finished");
});

test("replaces a runner that does not reply", async () => {
  const on = await stage({ limits: { replyMs: 1_000 } });
  const uuid = await on.start({ ignoresPause: true });
  const states = statesUntil(on, uuid, "running");
  await assert.rejects(on.supervisor.pause(on.user, uuid), rejectsWith("pipeline_failed"));
  assert.deepEqual(await states, ["running", "restarting", "running"]);
});

test("a restarted server resumes what should run, as it was", async () => {
  const first = await stage({ isFile: true });
  const { user, sourceUuid } = first;
  const [running, paused, stopped] = await Promise.all([first.start(), first.start(), first.start()]);
  await first.supervisor.pause(user, paused);
  await first.supervisor.stop(user, stopped);
  const track = await highestTrack(first, running);
  await first.supervisor.close();
  assert.equal((await first.row(running))?.state, "running");
  assert.equal((await first.row(running))?.nodeUuid, null);
  const second = await stage({ isFile: true, user, sourceUuid });
  await Promise.all([second.reach(running, "running"), second.reach(paused, "paused")]);
  const inside = await second.inside(running);
  assert.ok(Number(inside.job.firstTrackId) > track);
  assert.ok(BigInt(String(inside.job.positionNs)) > 0n);
  assert.equal(second.supervisor.held(stopped), null);
  assert.equal((await second.row(running))?.restarts, 0);
  assert.equal((await second.row(stopped))?.state, "finished");
});

test("a looped file is played from its start after a restart, and loses no frames", async () => {
  const on = await stage({ loops: true });
  const uuid = await on.start();
  await highestTrack(on, uuid);
  const states = statesUntil(on, uuid, "running");
  const { pid } = await on.inside(uuid);
  process.kill(pid, "SIGKILL");
  assert.deepEqual(await states, ["running", "restarting", "running"]);
  const { job } = await on.inside(uuid);
  assert.deepEqual([job.sourceLoops, job.positionNs], [true, "0"]);
  assert.equal((await on.row(uuid))?.framesLost, null);
});

test("resumes the processes of a server that does not renew its lease, which loses them for good", async () => {
  // The first one does not renew, as if its machine hung.
  const first = await stage({ lease: { leaseSeconds: 1200, renewMs: 600_000 }, isAlone: false });
  const { user, sourceUuid } = first;
  const uuid = await first.start();
  const track = await highestTrack(first, uuid);
  const { pid } = await first.inside(uuid);
  const fences = async () =>
    (await database.sql`select fence from usage where process_uuid = ${uuid} order by fence`).map(({ fence }) => fence);
  while ((await fences()).length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  const second = await stage({ user, sourceUuid, isAlone: false, lease: { leaseSeconds: 1 } });
  assert.equal(second.supervisor.held(uuid), null);
  await database.sql`update nodes set lease_until = now() where uuid = ${first.node.uuid}`;
  while (second.supervisor.held(uuid) === null) await new Promise((resolve) => setTimeout(resolve, 20));
  await second.reach(uuid, "running");
  assert.ok(Number((await second.inside(uuid)).job.firstTrackId) > track + 100);
  // The first one finds out with its next write, and kills its own runner.
  await first.supervisor.held(uuid)?.ended;
  assert.equal(isAlive(pid), false);
  // Stored a little later than subscribers are notified.
  while ((await second.row(uuid))?.state !== "running") await new Promise((resolve) => setTimeout(resolve, 20));
  // Each counts the minutes under its own claim.
  await second.waitFor(uuid, ({ type }) => type === "stats");
  await second.supervisor.stop(user, uuid);
  assert.deepEqual(await fences(), [1, 2]);
});

test("deletes a start that got no response, and finishes what should have stopped", async () => {
  const first = await stage();
  const { user, sourceUuid } = first;
  const uuid = await first.start();
  await first.supervisor.close();
  await database.sql`update processes set desired = 'stopped', state = 'stopping' where uuid = ${uuid}`;
  const pending = newUuid();
  await database.sql`
    insert into processes (uuid, user_uuid, source_uuid, source_url, graph, params, has_track_logger, desired, state)
    values (${pending}, ${user.uuid}, ${sourceUuid}, '', 'detect', '{}', false, 'running', 'starting')`;
  const second = await stage({ user, sourceUuid });
  assert.equal((await second.row(uuid))?.state, "finished");
  assert.equal(await second.row(pending), null);
});

test("stops a process that waits to be resumed, which is not resumed afterwards", async () => {
  const first = await stage();
  const { user, sourceUuid } = first;
  const [one, another] = [await first.start(), await first.start()];
  await first.supervisor.close();
  let isUnreachable = true;
  const prepare: SupervisorDeps["prepare"] = async ({ params }) => {
    if (isUnreachable) throw new ServiceError("database_unavailable", { detail: "unreachable" });
    return { params, offers: new Set(), slots: {} };
  };
  const second = await stage({ user, sourceUuid, needs: { prepare } });
  assert.equal(second.supervisor.held(one), null);
  await second.supervisor.stop(user, one);
  assert.equal((await second.row(one))?.state, "finished");
  assert.equal((await second.row(another))?.state === "finished", false);
  assert.deepEqual(await second.supervisor.stopAll(user), [another]);
  assert.equal((await second.row(another))?.state, "finished");
  isUnreachable = false;
  // By the time the next start has succeeded, those that wait would have been resumed.
  await second.reach(await second.start(), "running");
  for (const uuid of [one, another]) {
    assert.equal(second.supervisor.held(uuid), null);
    assert.equal((await second.row(uuid))?.state, "finished");
  }
});

test("fails a process whose source was deleted when it is resumed", async () => {
  const first = await stage();
  const { user, sourceUuid } = first;
  const uuid = await first.start();
  await first.supervisor.close();
  await database.sql`delete from sources where uuid = ${sourceUuid}`;
  const second = await stage({ user, sourceUuid });
  const row = await second.row(uuid);
  assert.deepEqual([row?.state, row?.errorCode], ["failed", "source_not_found"]);
});

test("waits for a live source that is offline when its process is resumed", async () => {
  const first = await stage();
  const { user, sourceUuid } = first;
  const uuid = await first.start();
  await first.supervisor.close();
  const script = (value: object) =>
    database.sql`update processes set params = ${database.sql.json({ script: { ...value } })} where uuid = ${uuid}`;
  await script({ refuses: { kind: "source", detail: "refused" } });
  const second = await stage({ user, sourceUuid, settings: { RECONNECT_GIVE_UP_SECONDS: "3" } });
  await second.waitFor(uuid, (notice) => notice.type === "reconnecting" && notice.reconnecting);
  const { state, reconnecting } = second.supervisor.view(uuid) ?? {};
  assert.deepEqual({ state, reconnecting }, { state: "running", reconnecting: true });
  const row = await second.ended(uuid);
  assert.deepEqual([row?.errorCode, row?.restarts], ["source_not_live", 0]);
});

test("finds a lost source whose name resolves to another address, without counting a crash", async () => {
  const [here, there] = ["rtsp://192.0.2.1/", "rtsp://192.0.2.2/"];
  let place = here;
  const limits = { lookupMs: 100 };
  const { supervisor, start, inside, waitFor, row } = await stage({ limits, locate: async () => place });
  const uuid = await start({ reconnectAt: 1, reconnectFrom: here });
  const isLost = () => supervisor.view(uuid)?.reconnecting;
  await waitFor(uuid, () => isLost() === true);
  const { job, pid } = await inside(uuid);
  assert.equal(job.sourceUri, here);
  place = there;
  await waitFor(uuid, () => isLost() === false);
  const after = await inside(uuid);
  assert.equal(after.job.sourceUri, there);
  assert.equal(isAlive(pid), false);
  assert.equal((await row(uuid))?.restarts, 0);
});

test("reports a source whose name cannot be resolved as not live, without using a runner", async () => {
  const locate = () => Promise.reject(new ServiceError("source_not_live", { detail: "no host of the name camera" }));
  const { start } = await stage({ locate });
  await assert.rejects(start(), { code: "source_not_live", message: "no host of the name camera" });
});

test("adds up the minutes of all runners of a process, none twice", async () => {
  const first = await stage();
  const { user, sourceUuid, supervisor } = first;
  const uuid = await first.start({ runningFactor: 100 });
  const restarted = statesUntil(first, uuid, "running");
  process.kill((await first.inside(uuid)).pid, "SIGKILL");
  await restarted;
  await first.waitFor(uuid, ({ type }) => type === "stats");
  const totalMs = () => supervisor.held(uuid)?.record.runningMs ?? 0;
  assert.ok(totalMs() > 0);
  const held = supervisor.held(uuid);
  await supervisor.close();
  const used = async () => {
    const [row] = await database.sql<{ ms: number; claims: number }[]>`
      select sum(running_ms)::bigint as ms, count(*) as claims from usage where user_uuid = ${user.uuid}`;
    return row;
  };
  assert.deepEqual({ ...(await used()) }, { ms: held?.record.runningMs, claims: 1 });
  const second = await stage({ user, sourceUuid });
  await second.reach(uuid, "running");
  await highestTrack(second, uuid);
  await second.supervisor.stop(user, uuid);
  assert.equal((await used())?.claims, 2);
});
