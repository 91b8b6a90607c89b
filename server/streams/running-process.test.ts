/** The streams of a process that really runs: supervisor, database and runner are those of the service. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { ENTRY, WATCHED } from "../../graphs/runtime/runner/runner.fixture.ts";
import { makeConfig, makeUser, openApp, type TestApp } from "../api/app.fixture.ts";
import { streamEndpoints } from "../api/streams.ts";
import { openStage, type Stage } from "../processes/supervisor.fixture.ts";
import { type TestDatabase, testDatabase } from "../store/database.fixture.ts";
import { eventually, Listener, refusalOf } from "./streams.fixture.ts";
import { Streams } from "./streams.ts";

let database: TestDatabase;
let stage: Stage;
let streams: Streams;
let app: TestApp;

before(async () => {
  database = await testDatabase();
  stage = await openStage(database.sql, {
    allocatedMs: 3_600_000,
    // Time to start on a machine that is busy.
    settings: { RUNNERS_START_SECONDS: "60" },
    limits: { loadMs: 60_000 },
    needs: {
      runnerEntry: pathToFileURL(ENTRY),
      prepare: async ({ params }) => ({ params, offers: new Set(["print"]), slots: { feed: {} } }),
      resolveInput: async () => {
        const uri = "test:ball?width=64&height=48";
        return { uri, isFile: false, label: "test:ball", telemetry: null, locate: async () => uri };
      },
    },
  });
  const { limits } = makeUser("ada");
  const authenticate = async () => ({ ...stage.user, limits });
  streams = new Streams({
    config: makeConfig().streams,
    processes: stage.supervisor,
    authenticate,
    expectSource: async () => {},
    findOwner: async () => null,
    isSigned: () => false,
  });
  app = await openApp(
    streamEndpoints(streams, makeConfig().streams.viewers, { signer: { sign: () => "" }, seconds: 1 }),
    {
      authenticate,
      onUpgrade: streams.upgrade,
    },
  );
});
after(async () => {
  await streams.close();
  await stage.supervisor.close();
  await app.close(0);
  await database.close();
});

const start = async (): Promise<string> => {
  const { supervisor, user, sourceUuid } = stage;
  return (await supervisor.start({ user, sourceUuid, graph: "watched", graphText: WATCHED, params: {} })).uuid;
};

/** Reads until it has seen enough, then leaves. */
async function readUntil(answer: Response, isEnough: (text: string) => boolean): Promise<string> {
  assert.equal(answer.status, 200);
  let text = "";
  for await (const chunk of answer.body ?? []) {
    text += Buffer.from(chunk).toString("latin1");
    if (isEnough(text)) break;
  }
  return text;
}

test("the feed sends JPEGs, is encoded only while there are viewers, and restarts for the next viewer", async () => {
  const uuid = await start();
  const isAttached = async () =>
    JSON.stringify(await stage.supervisor.describe(stage.user, uuid, "json")).includes("jpegenc");
  for (let viewer = 0; viewer < 2; viewer++) {
    const text = await readUntil(
      await app.call(`/process/${uuid}/feed`),
      (seen) => seen.split("\xff\xd8\xff").length > 5,
    );
    const [, length = "", time = ""] =
      /Content-Length: (\d+)\r\nX-Timestamp: (\S+)\r\n\r\n\xff\xd8\xff/.exec(text) ?? [];
    assert.ok(Number(length) > 100, text.slice(0, 300));
    assert.ok(!Number.isNaN(Date.parse(time)));
    await eventually(async () => !(await isAttached()), "the feed is detached");
  }
  await stage.supervisor.stop(stage.user, uuid);
});

test("events have the state and stats; sockets, events and feeds end with the process", async () => {
  const uuid = await start();
  const listener = await Listener.open(app, { uuid }, "drone_data");
  const [feed, events] = await Promise.all([app.call(`/process/${uuid}/feed`), app.call(`/process/${uuid}/events`)]);
  const ended = [feed.arrayBuffer(), readUntil(events, () => false)] as const;
  await stage.waitFor(uuid, ({ type }) => type === "stats");
  await stage.supervisor.stop(stage.user, uuid);
  assert.deepEqual(await listener.closed, { code: 1000, reason: "The process has finished." });
  const [, text] = await Promise.all(ended);
  const states = [...text.matchAll(/"state":"(\w+)"/g)].map(([, state]) => state);
  assert.equal(states[0], "running");
  assert.equal(states.at(-1), "finished");
  assert.match(text, /event: stats\n/);
  for (const stream of ["events", "feed"]) assert.equal((await app.call(`/process/${uuid}/${stream}`)).status, 404);
  for (const channel of ["detection_data", "drone_data", "telemetry"])
    assert.equal((await refusalOf(app, `/process/${uuid}/${channel}`)).code, "process_not_found");
});

test("streams survive a crash of the runner", async () => {
  const uuid = await start();
  const listener = await Listener.open(app, { uuid }, "drone_data");
  const feed = await app.call(`/process/${uuid}/feed`);
  const pid = stage.supervisor.held(uuid)?.runnerPid ?? assert.fail("it has no runner");
  let killedMs = Number.POSITIVE_INFINITY;
  await readUntil(feed, (text) => {
    const takenMs = Date.parse(/.*X-Timestamp: (\S+)/s.exec(text)?.[1] ?? "");
    if (killedMs < Number.POSITIVE_INFINITY || Number.isNaN(takenMs)) return takenMs > killedMs;
    process.kill(pid, "SIGKILL");
    killedMs = Date.now();
    return false;
  });
  assert.equal(listener.socket.readyState, listener.socket.OPEN);
  await stage.supervisor.stop(stage.user, uuid);
  assert.equal((await listener.closed).code, 1000);
});
