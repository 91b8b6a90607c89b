/** A start gets its response within the time limit, whatever is slow, and leaves nothing when it fails. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { afterEach, test } from "node:test";
import { pathToFileURL } from "node:url";
import { ENTRY, WATCHED } from "../../graphs/runtime/runner/runner.fixture.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { until } from "../../test/watch.fixture.ts";
import { ServiceError } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import { lockUser } from "../store/users.ts";
import { openStages, rejectsWith, type Stage } from "./supervisor.fixture.ts";

const LIMIT_SECONDS = 2;
/** A busy machine is late with everything, but not by this factor. */
const MARGIN = 2;

afterEach(() => {
  delete process.env.SCRIPTED_HELLO;
});
const { database, stage } = await openStages((options) => ({
  ...options,
  settings: { RUNNERS_START_SECONDS: `${LIMIT_SECONDS}`, ...options.settings },
  limits: { loadMs: 600_000, ...options.limits },
}));
afterEach(async () => {
  // Handles of those that have exited are closed at the end of this turn of the event loop, after its immediates.
  for (let turn = 0; turn < 2; turn++) await new Promise(setImmediate);
  assert.equal(countRunners(), 0, "a runner is left");
});

const countRunners = (): number => process.getActiveResourcesInfo().filter((name) => name === "ProcessWrap").length;
const failOnSuccess = (): never => assert.fail("it was started");
const never = <T>(): Promise<T> => new Promise(() => {});
const rowsOf = ({ user }: Stage) => database.sql`select from processes where user_uuid = ${user.uuid}`;

/** Holds a process between its row and its runner, so that the row is locked before the process runs. */
class Gate {
  open: () => void = () => {};
  readonly passed = new Promise<string>((resolve) => {
    this.open = () => resolve("rtsp://camera/");
  });
}

/** The error of a start, which must come within its limit. */
async function failStart(on: Stage, script: JsonRecord = {}): Promise<ServiceError> {
  const startedMs = performance.now();
  const error = await on.start(script).then(failOnSuccess, (error: unknown) => error);
  const share = (performance.now() - startedMs) / (LIMIT_SECONDS * 1000);
  assert.ok(error instanceof ServiceError, String(error));
  assert.ok(share < MARGIN, `it took ${share} of its limit`);
  return error;
}

test("rejects a start in time, with a retry delay, when the machine is too slow", async () => {
  process.env.SCRIPTED_HELLO = "never";
  const unloaded = await failStart(await stage());
  delete process.env.SCRIPTED_HELLO;
  const unplayed = await failStart(await stage(), { plays: false });
  const unchecked = await failStart(await stage({ needs: { prepare: never } }));
  for (const { code, message, retryAfterSeconds } of [unloaded, unplayed, unchecked])
    assert.deepEqual(
      [code, message, Number(retryAfterSeconds) > 0],
      [
        "pipeline_failed",
        "this machine is too busy to start it within 2 s (runners.start_seconds); try again in a moment",
        true,
      ],
    );
});

test("reports a source that cannot be located in time as not live", async () => {
  assert.equal((await failStart(await stage({ locate: never }))).code, "source_not_live");
});

test("applies the limit to files too", async () => {
  const { code, message } = await failStart(await stage({ isFile: true }), { flows: false });
  assert.equal(code, "pipeline_failed");
  assert.match(message, /^no frame arrived from/);
});

test("counts the time before the start: rejects a request that waited for longer than its limit", async () => {
  const { supervisor, user, sourceUuid } = await stage();
  const requestedMs = performance.now() - LIMIT_SECONDS * 1000;
  const order = { user, sourceUuid, graph: "detect", params: {}, requestedMs };
  await assert.rejects(supervisor.start(order), rejectsWith("pipeline_failed"));
});

test("starts beyond the parallel limit wait, under the same time limit", async () => {
  const on = await stage({ limits: { parallel: 1 } });
  const [first, second] = await Promise.all([failStart(on, { plays: false }), failStart(on, { plays: false })]);
  assert.deepEqual([first.code, second.code], ["pipeline_failed", "pipeline_failed"]);
});

test("a failed start leaves no process, also when the database is slow", async () => {
  const on = await stage();
  const error = await whileLocked(
    (sql) => lockUser(sql, on.user.uuid),
    () => failStart(on),
  );
  assert.equal(error.code, "pipeline_failed");
  // Behind the failed one, which has been stored by now, if it ever is.
  await database.sql.begin((sql) => lockUser(sql, on.user.uuid));
  await on.supervisor.close();
  assert.equal((await rowsOf(on)).length, 0);
});

test("rolls back a process that runs, but whose response cannot be sent in time", async () => {
  const located = new Gate();
  const on = await stage({ settings: { RUNNERS_START_SECONDS: "3" }, locate: () => located.passed });
  const error = await whileLocked(
    async (sql) => {
      const refused = on.start().then(failOnSuccess, (error: ServiceError) => error);
      await until(async () => (await rowsOf(on)).length === 1);
      await sql`select from processes where user_uuid = ${on.user.uuid} for update`;
      located.open();
      return { refused };
    },
    ({ refused }) => refused,
  );
  assert.equal(error.code, "pipeline_failed");
  await until(async () => (await rowsOf(on)).length === 0);
  await until(() => countRunners() === 0);
});

test("rolls a start back when its client disconnects between the first frame and the response", async () => {
  const located = new Gate();
  const on = await stage({ settings: { RUNNERS_START_SECONDS: "600" }, locate: () => located.passed });
  const gone = new AbortController();
  await whileLocked(
    async (sql) => {
      const refused = on.start({}, { signal: gone.signal }).then(failOnSuccess, (error: ServiceError) => error);
      await until(async () => (await rowsOf(on)).length === 1);
      await sql`select from processes where user_uuid = ${on.user.uuid} for update`;
      located.open();
      const [{ uuid } = { uuid: "" }] = await sql<{ uuid: string }[]>`
        select uuid from processes where user_uuid = ${on.user.uuid}`;
      await until(() => on.supervisor.held(uuid)?.state === "running");
      gone.abort();
      return { refused, uuid };
    },
    async ({ uuid }) => until(() => on.supervisor.held(uuid) === null),
  );
  await until(async () => (await rowsOf(on)).length === 0);
  assert.equal(countRunners(), 0);
});

test("responds in time to three parallel starts on a port that accepts and stays silent", async () => {
  const sockets = new Set<Socket>();
  const port = createServer((socket) => void sockets.add(socket.on("error", () => {}))).listen(0, "127.0.0.1");
  await once(port, "listening");
  const uri = `rtsp://127.0.0.1:${(port.address() as AddressInfo).port}/x`;
  const limitSeconds = 5;
  const on = await stage({
    settings: { RUNNERS_START_SECONDS: `${limitSeconds}`, RUNNERS_SPARE: "1" },
    needs: {
      runnerEntry: pathToFileURL(ENTRY),
      prepare: async ({ params }) => ({ params, offers: new Set(["print"]), slots: { feed: {} } }),
      resolveInput: async () => ({ uri, isFile: false, label: uri, telemetry: null, locate: async () => uri }),
    },
  });
  const { supervisor, user, sourceUuid } = on;
  const order = { user, sourceUuid, graph: "watched", graphText: WATCHED, params: {} };
  const startedMs = performance.now();
  const refused = async () => supervisor.start(order).then(failOnSuccess, (error: ServiceError) => error);
  const errors = await Promise.all([refused(), refused(), refused()]);
  const share = (performance.now() - startedMs) / (limitSeconds * 1000);
  assert.ok(share < MARGIN, `it took ${share} of the limit`);
  // Where three runners cannot be loaded in time, the machine is at fault, not the source.
  for (const { code, message, retryAfterSeconds } of errors)
    if (retryAfterSeconds === null) assert.equal(code, "source_not_live", message);
    else assert.equal(code, "pipeline_failed", message);
  for (const socket of sockets) socket.destroy();
  port.close();
});

/** `act` gets the result of `lock`, whose row locks are held meanwhile. */
async function whileLocked<L, T>(lock: (sql: Sql) => Promise<L>, act: (locked: L) => Promise<T>): Promise<T> {
  return database.sql.begin(async (sql) => act(await lock(sql as unknown as Sql))) as Promise<T>;
}
