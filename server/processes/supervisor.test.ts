import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonRecord } from "../../schemas/json.ts";
import { poll } from "../../test/watch.fixture.ts";
import { isAlive } from "../is-alive.ts";
import type { ServiceError } from "../service-error.ts";
import { newUuid } from "../uuid.ts";
import { addOutput, addUser, openStages, rejectsWith } from "./supervisor.fixture.ts";

const { database, stage } = await openStages();

const countRows = async (userUuid: string): Promise<number> =>
  (await database.sql`select from processes where user_uuid = ${userUuid}`).length;

test("a started process runs, sends messages, and ends when it is stopped", async () => {
  const { supervisor, user, start, row, waitFor, inside } = await stage();
  const uuid = await start();
  const { message } = (await waitFor(uuid, ({ type }) => type === "message")) as unknown as {
    message: { process_uuid: string };
  };
  assert.equal(message.process_uuid, uuid);
  const before = await row(uuid);
  assert.equal(before?.state, "running");
  assert.equal(before?.desired, "running");
  assert.ok(before?.startedAt instanceof Date);
  const { pid, job } = await inside(uuid);
  assert.equal(job.sourceUri, "rtsp://ada:secret@camera/");
  assert.equal(job.sourceLabel, "rtsp://***@camera/");
  await supervisor.stop(user, uuid);
  assert.equal(isAlive(pid), false);
  const after = await row(uuid);
  assert.deepEqual([after?.state, after?.desired, after?.errorCode], ["finished", "stopped", null]);
  assert.ok(after?.finishedAt instanceof Date);
  await supervisor.stop(user, uuid);
});

test("rejects starts in the documented order of errors, and leaves nothing", async () => {
  const { supervisor, user, sourceUuid } = await stage();
  const order = { user, sourceUuid, graph: "detect", params: {} };
  await assert.rejects(
    supervisor.start({ ...order, sourceUuid: newUuid(), graph: "absent" }),
    rejectsWith("source_not_found"),
  );
  await assert.rejects(supervisor.start({ ...order, graph: "absent" }), rejectsWith("graph_not_found"));
  const stranger = await addUser(database.sql);
  await assert.rejects(supervisor.start({ ...order, user: stranger }), rejectsWith("source_not_found"));
  const poor = await addUser(database.sql, 0);
  await assert.rejects(
    supervisor.start({ ...order, user: poor, sourceUuid: newUuid() }),
    rejectsWith("usage_limit_reached"),
  );
  assert.equal(await countRows(user.uuid), 0);
});

/** Waited for where no frame comes: so long that a busy machine has started the runner. */
const START_LIMIT = { RUNNERS_START_SECONDS: "10" };

for (const [what, script, code] of [
  ["a source that rejects the connection", { refuses: { kind: "source", detail: "refused" } }, "source_not_live"],
  ["a source that sends no frames", { flows: false }, "source_not_live"],
  ["a graph that the runner cannot compile", { refuses: { kind: "graph", detail: "no" } }, "pipeline_failed"],
  ["a pipeline that fails", { refuses: { kind: "pipeline", detail: "no" } }, "pipeline_failed"],
  ["a runner that crashes", { crashesAtStart: true }, "pipeline_failed"],
] as const)
  test(`${what} is reported as ${code}, and leaves neither process nor runner`, async () => {
    const { supervisor, user, start } = await stage({ settings: START_LIMIT });
    await assert.rejects(start(script), rejectsWith(code));
    // The response does not wait for it beyond the time limit of the start.
    await poll("its row is removed", async () => (await countRows(user.uuid)) === 0);
    assert.deepEqual(await supervisor.stopAll(user), []);
  });

for (const hello of ["crash", "garbage", "old", "never"])
  test(`reports a runner with a bad first message (${hello}) as pipeline_failed`, async () => {
    process.env.SCRIPTED_HELLO = hello;
    try {
      const { start } = await stage({ limits: { loadMs: 1_000 } });
      await assert.rejects(start(), rejectsWith("pipeline_failed"));
    } finally {
      delete process.env.SCRIPTED_HELLO;
    }
  });

test("names a source that sends no frames, and says what to check", async () => {
  const { start } = await stage({ settings: START_LIMIT });
  await assert.rejects(start({ flows: false }), {
    message:
      /^no frame arrived from rtsp:\/\/\*\*\*@camera\/ within \d+\.\d s; check that it is reachable and streams$/,
  });
});

test("errors never contain the credentials of the source", async () => {
  const { start } = await stage();
  await assert.rejects(
    start({ refuses: { kind: "source", detail: "rtsp://ada:secret@camera/ refused" } }),
    (error: Error) => error.message === "rtsp://***@camera/ refused",
  );
});

test("of two starts at the process limit exactly one succeeds", async () => {
  const { user, start, supervisor } = await stage();
  await Promise.all([start(), start(), start()]);
  const results = await Promise.allSettled([start(), start()]);
  assert.deepEqual(results.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
  const refused = results.find((result) => result.status === "rejected");
  rejectsWith("processes_limit_reached")(refused?.reason);
  assert.equal(await countRows(user.uuid), user.limits.processes);
  const stopped = await supervisor.stopAll(user);
  assert.equal(stopped.length, user.limits.processes);
  await start();
});

test("rolls a start back when its client disconnects", async () => {
  const { user, start } = await stage();
  const gone = new AbortController();
  const started = start({ flows: false }, { signal: gone.signal });
  started.catch(() => {});
  while ((await countRows(user.uuid)) === 0);
  gone.abort();
  await assert.rejects(started, rejectsWith("wrong_state"));
  assert.equal(await countRows(user.uuid), 0);
});

test("stops a process that is starting", async () => {
  const { supervisor, user, start } = await stage();
  const started = start({ flows: false });
  started.catch(() => {});
  while ((await countRows(user.uuid)) === 0);
  await Promise.all([supervisor.stopAll(user), assert.rejects(started, rejectsWith("wrong_state"))]);
  assert.equal(await countRows(user.uuid), 0);
});

test("accepts pause and resume in their states only", async () => {
  const { supervisor, user, start, row, inside } = await stage();
  const uuid = await start();
  await assert.rejects(supervisor.resume(user, uuid), rejectsWith("wrong_state"));
  await supervisor.pause(user, uuid);
  const paused = await row(uuid);
  assert.deepEqual([paused?.state, paused?.desired], ["paused", "paused"]);
  assert.equal((await inside(uuid)).state, "paused");
  await assert.rejects(supervisor.pause(user, uuid), rejectsWith("wrong_state"));
  await supervisor.resume(user, uuid);
  assert.equal((await row(uuid))?.state, "running");
  await supervisor.pause(user, uuid);
  await supervisor.stop(user, uuid);
  await assert.rejects(supervisor.pause(user, uuid), rejectsWith("wrong_state"));
  await assert.rejects(supervisor.resume(user, newUuid()), rejectsWith("process_not_found"));
});

test("hides processes of other users", async () => {
  const { supervisor, start } = await stage();
  const uuid = await start();
  const stranger = await addUser(database.sql);
  for (const attempt of [
    () => supervisor.pause(stranger, uuid),
    () => supervisor.stop(stranger, uuid),
    () => supervisor.follow(stranger, uuid, () => {}),
    () => supervisor.describe(stranger, uuid, "json"),
    () => supervisor.expectOffer(stranger, uuid, "detections"),
  ])
    await assert.rejects(attempt, rejectsWith("process_not_found"));
  assert.deepEqual(await supervisor.stopAll(stranger), []);
});

test("finishes a process at the end of its file", async () => {
  const { start, ended: untilEnded, supervisor, user } = await stage({ isFile: true });
  const uuid = await start({ endAt: 10 });
  const ended = await untilEnded(uuid);
  assert.deepEqual([ended?.state, ended?.errorCode, ended?.positionNs], ["finished", null, 250_000_000]);
  await assert.rejects(
    supervisor.follow(user, uuid, () => {}),
    rejectsWith("process_not_found"),
  );
  await assert.rejects(supervisor.pause(user, uuid), rejectsWith("wrong_state"));
});

test("kills a runner that does not stop", async () => {
  const { supervisor, user, start, inside } = await stage({ limits: { stopMs: 500 } });
  const uuid = await start({ ignoresStop: true });
  const { pid } = await inside(uuid);
  await supervisor.stop(user, uuid);
  assert.equal(isAlive(pid), false);
});

test("counts minutes while a process runs, and stops it when they are used up", async () => {
  const { start, ended: untilEnded, user } = await stage({ allocatedMs: 30_000 });
  const uuid = await start({ runningFactor: 1000 });
  const ended = await untilEnded(uuid);
  assert.deepEqual([ended?.state, ended?.errorCode], ["finished", "usage_limit_reached"]);
  const [used] = await database.sql<
    { ms: number }[]
  >`select sum(running_ms)::bigint as ms from usage where user_uuid = ${user.uuid}`;
  assert.ok((used?.ms ?? 0) >= 30_000, `${used?.ms} ms`);
  await assert.rejects(start(), rejectsWith("usage_limit_reached"));
});

test("attaches an output to one process at a time, within the limit, and frees it at the end of the process", async () => {
  const { supervisor, user, start, row, inside } = await stage();
  const [one, two, bare] = await Promise.all([start(), start(), start({}, { graph: "bare" })]);
  const video = await addOutput(database.sql, user, "rtmp");
  const data = await addOutput(database.sql, user, "detection_data");
  await supervisor.attach(user, one, video);
  await supervisor.attach(user, one, video);
  await supervisor.attach(user, one, data);
  assert.deepEqual((await inside(one)).attached, { [video]: "rtmp" });
  assert.deepEqual((await row(one))?.outputs, [video, data]);
  await assert.rejects(supervisor.attach(user, two, video), rejectsWith("output_in_use"));
  await assert.rejects(supervisor.attach(user, two, newUuid()), rejectsWith("output_not_found"));
  await assert.rejects(supervisor.detach(user, two, video), rejectsWith("output_not_found"));
  await assert.rejects(
    supervisor.attach(
      { ...user, limits: { ...user.limits, outputsActive: 2 } },
      two,
      await addOutput(database.sql, user, "rtmp"),
    ),
    rejectsWith("outputs_limit_reached"),
  );
  await supervisor.detach(user, one, video);
  assert.deepEqual((await inside(one)).attached, {});
  await assert.rejects(supervisor.attach(user, bare, video), rejectsWith("graph_lacks"));
  await supervisor.attach(user, two, video);
  await supervisor.stop(user, two);
  assert.deepEqual((await row(two))?.outputs, []);
  await supervisor.attach(user, one, video);
});

test("does not attach an output that the runner rejects", async () => {
  const { supervisor, user, start, row } = await stage();
  const uuid = await start({ refusesAttach: true });
  const output = await addOutput(database.sql, user, "rtmp");
  await assert.rejects(supervisor.attach(user, uuid, output), rejectsWith("pipeline_failed"));
  assert.deepEqual((await row(uuid))?.outputs, []);
  assert.equal((await row(uuid))?.state, "running");
});

test("sets properties, or rejects them with every fault", async () => {
  const { supervisor, user, start, row } = await stage();
  const uuid = await start();
  await supervisor.setProperties(user, uuid, { detect: { confidence: 0.5 } });
  await supervisor.setProperties(user, uuid, { detect: { classes: ["car"] } });
  assert.deepEqual((await row(uuid))?.live, { detect: { confidence: 0.5, classes: ["car"] } });
  const errorsOf = (nodes: Readonly<Record<string, JsonRecord>>) =>
    supervisor.setProperties(user, uuid, nodes).then(
      () => assert.fail("it was set"),
      ({ code, errors }: ServiceError) => [code, errors],
    );
  const one = { path: "/", message: "there is no node missing" };
  assert.deepEqual(await errorsOf({ missing: {} }), ["invalid_input", [one]]);
  const two = ["/both", "/detect/zzz"].map((path) => ({ path, message: "is not there" }));
  assert.deepEqual(await errorsOf({ both: {} }), ["invalid_input", two]);
});

test("rejects channels and slots that the graph does not have", async () => {
  const { supervisor, user, start } = await stage();
  const uuid = await start({}, { graph: "bare" });
  await supervisor.expectOffer(user, uuid, "detections");
  await assert.rejects(supervisor.expectOffer(user, uuid, "report"), rejectsWith("graph_lacks"));
  await assert.rejects(
    supervisor.watch(user, uuid, "feed", () => {}),
    rejectsWith("graph_lacks"),
  );
});

test("attaches the feed while it has viewers", async () => {
  const { supervisor, user, start, inside } = await stage();
  const uuid = await start();
  const [first, second] = await Promise.all([
    supervisor.watch(user, uuid, "feed", () => {}),
    supervisor.watch(user, uuid, "feed", () => {}),
  ]);
  assert.deepEqual((await inside(uuid)).attached, { feed: "feed" });
  await first();
  assert.deepEqual((await inside(uuid)).attached, { feed: "feed" });
  await second();
  assert.deepEqual((await inside(uuid)).attached, {});
});

test("rejects a start that a shutdown interrupts as one during it", async () => {
  const { supervisor, user, start } = await stage();
  const starting = assert.rejects(start({ plays: false }), rejectsWith("shutting_down"));
  await poll("it is starting", async () => {
    const rows = await database.sql`select from processes where user_uuid = ${user.uuid}`;
    return rows.length === 1;
  });
  await supervisor.close();
  await starting;
});

test("rejects starts during shutdown, and leaves no runner", async () => {
  const { supervisor, start, inside } = await stage({ settings: { RUNNERS_SPARE: "1" } });
  const { pid } = await inside(await start());
  const closing = supervisor.close();
  await assert.rejects(start(), rejectsWith("shutting_down"));
  await closing;
  assert.equal(isAlive(pid), false);
});
