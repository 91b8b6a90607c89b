/** Ways of outputs and recordings over the runs of a process. */
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import type { JsonRecord } from "../../schemas/json.ts";
import { makeConfig } from "../api/app.fixture.ts";
import { StillMedia } from "../media/media.fixture.ts";
import { routeOutputs } from "../outputs/route-output.ts";
import { type TestDatabase, testDatabase } from "../store/database.fixture.ts";
import { newUuid } from "../uuid.ts";
import { addOutput, openStage, refusedWith, type Stage, type StageOptions } from "./supervisor.fixture.ts";

let database: TestDatabase;
const open: Stage[] = [];
before(async () => {
  database = await testDatabase();
});
afterEach(async () => {
  await Promise.all(open.splice(0).map(({ supervisor }) => supervisor.close()));
});
after(() => database.close());

const media = new StillMedia();
const routeOutput = routeOutputs({ media, network: makeConfig({}).network });

async function stage(options: StageOptions = {}): Promise<Stage> {
  const opened = await openStage(database.sql, { ...options, needs: { routeOutput, ...options.needs } });
  open.push(opened);
  return opened;
}

/** What the runner was given for an output. */
async function paramsOf({ inside }: Stage, process: string, output: string): Promise<JsonRecord> {
  const { outputs } = (await inside(process)) as unknown as { outputs: Record<string, JsonRecord> };
  return outputs[output] ?? {};
}

async function passwordOf(stage: Stage, process: string, output: string): Promise<string> {
  return new URL(String((await paramsOf(stage, process, output)).url)).password;
}

async function restarted({ hear, reach }: Stage, uuid: string): Promise<void> {
  await hear(uuid, (notice) => notice.type === "stats" && notice.stats.restarts > 0);
  await reach(uuid, "running");
}

test("an rtsp output has a token while it is attached, and another in every run", async () => {
  const opened = await stage();
  const { supervisor, user, start } = opened;
  const uuid = await start();
  const output = await addOutput(database.sql, user, "rtsp");
  const path = `${user.username}/yard`;
  await supervisor.attach(user, uuid, output);
  const first = await passwordOf(opened, uuid, output);
  assert.equal(media.tokens.allows(first, "publish", path), true);
  process.kill(supervisor.held(uuid)?.runnerPid ?? 0, "SIGKILL");
  await restarted(opened, uuid);
  const second = await passwordOf(opened, uuid, output);
  assert.deepEqual(
    [first, second].map((token) => media.tokens.allows(token, "publish", path)),
    [false, true],
  );
  await supervisor.detach(user, uuid, output);
  assert.deepEqual([media.tokens.size, (await opened.inside(uuid)).attached], [0, {}]);
  await supervisor.attach(user, uuid, output);
  assert.equal(media.tokens.size, 1);
  await supervisor.stop(user, uuid);
  assert.equal(media.tokens.size, 0);
});

test("how outputs get on is shown, without secrets, and begins anew with a run", async () => {
  const opened = await stage();
  const { supervisor, user, start } = opened;
  const uuid = await start({ outputStatus: "retrying" });
  const [output, data] = [
    await addOutput(database.sql, user, "rtsp"),
    await addOutput(database.sql, user, "detection_data"),
  ];
  await supervisor.attach(user, uuid, output);
  await supervisor.attach(user, uuid, data);
  const states = () => supervisor.view(uuid)?.outputs;
  const lost = { outputUuid: output, type: "rtsp", status: "retrying", detail: "rtmp://***@there/ is away" };
  assert.deepEqual(states(), [
    { ...lost, framesSent: 5, framesDropped: 1 },
    { outputUuid: data, type: "detection_data", status: "live", detail: null, framesSent: 0, framesDropped: 0 },
  ]);
  await supervisor.detach(user, uuid, output);
  assert.equal(states()?.length, 1);
});

test("an output at an address that may not be connected to is refused, and one of a lost name is waited for", async () => {
  const opened = await stage({ settings: { RECONNECT_LOOKUP_SECONDS: "0.1" } });
  const { supervisor, user, start, row, inside } = opened;
  const uuid = await start();
  const at = async (url: string): Promise<string> => {
    const output = await addOutput(database.sql, user, "rtmp");
    await database.sql`update outputs set url = ${database.sql.typed.sealed(url)} where uuid = ${output}`;
    return output;
  };
  const refused = await at("rtmp://169.254.169.254/live/a");
  await assert.rejects(supervisor.attach(user, uuid, refused), refusedWith("address_refused"));
  assert.deepEqual((await row(uuid))?.outputs, []);
  const lost = await at("rtmp://nowhere.invalid/live/a");
  await supervisor.attach(user, uuid, lost);
  const [state] = supervisor.view(uuid)?.outputs ?? [];
  assert.deepEqual([state?.status, state?.detail], ["retrying", "no host of the name nowhere.invalid can be found"]);
  assert.deepEqual((await inside(uuid)).attached, {});
  await supervisor.detach(user, uuid, lost);
  assert.deepEqual((await row(uuid))?.outputs, []);
});

test("an output whose name is found later is attached then, and one that goes elsewhere is attached there", async () => {
  let address: string | null = null;
  const ways: StageOptions["needs"] = {
    routeOutput: async (_, failing) => {
      if (address === null) throw new Error("not found");
      return failing?.params.address === address ? failing : { params: { url: "rtmp://x", address }, release() {} };
    },
  };
  const opened = await stage({ settings: { RECONNECT_LOOKUP_SECONDS: "0.1" }, needs: ways });
  const { supervisor, user, start } = opened;
  const uuid = await start({ outputStatus: "retrying" });
  const output = await addOutput(database.sql, user, "rtmp");
  await supervisor.attach(user, uuid, output);
  for (const next of ["192.0.2.1", "192.0.2.2"]) {
    address = next;
    while ((await paramsOf(opened, uuid, output)).address !== next);
  }
});

test("a process of a key with recording is recorded in every run, each in a file of its own, while there is room", async () => {
  const files: string[] = [];
  let hasRoom = true;
  const recordings = {
    isAllowed: () => hasRoom,
    segmentMs: 600_000,
    nextFile: async (uuid: string) => {
      files.push(`/data/${uuid}/${files.length}.mp4`);
      return files.at(-1) ?? "";
    },
  };
  const slots = { feed: {}, recording: {} };
  const needs: StageOptions["needs"] = {
    recordings,
    prepare: async ({ params }) => ({ params, offers: new Set<string>(), slots }),
  };
  const opened = await stage({ settings: { RECONNECT_LOOKUP_SECONDS: "0.1" }, needs });
  const { supervisor, user, sourceUuid, inside } = opened;
  const begin = async (hasRecording: boolean) =>
    (await supervisor.start({ user: { ...user, hasRecording }, sourceUuid, graph: "detect", params: {} })).uuid;
  const plain = await begin(false);
  assert.deepEqual((await inside(plain)).attached, {});
  const uuid = await begin(true);
  const pathNow = async () => (await paramsOf(opened, uuid, "recording")).path;
  assert.equal(await pathNow(), `/data/${uuid}/0.mp4`);
  process.kill(supervisor.held(uuid)?.runnerPid ?? 0, "SIGKILL");
  await restarted(opened, uuid);
  assert.equal(await pathNow(), `/data/${uuid}/1.mp4`);
  hasRoom = false;
  while ((await pathNow()) !== undefined);
  const stopped = { isRecording: false, detail: "the disk is nearly full", framesDropped: 0 };
  assert.deepEqual(supervisor.view(uuid)?.recording, stopped);
  assert.equal(supervisor.view(plain)?.recording, null);
  hasRoom = true;
  while ((await pathNow()) !== `/data/${uuid}/2.mp4`);
  assert.deepEqual(supervisor.view(uuid)?.recording, { isRecording: true, detail: null, framesDropped: 0 });
});

test("a process that is taken up again is recorded if its key has that, and goes on if it cannot be", async () => {
  const slots = { feed: {}, recording: {} };
  const broken: StageOptions["needs"] = {
    recordings: { isAllowed: () => true, segmentMs: 1000, nextFile: () => Promise.reject(new Error("no such disk")) },
    prepare: async ({ params }) => ({ params, offers: new Set<string>(), slots }),
  };
  const first = await stage({ needs: broken });
  await database.sql`update users set has_recording = true where uuid = ${first.user.uuid}`;
  const order = { user: { ...first.user, hasRecording: true }, sourceUuid: first.sourceUuid };
  const { uuid } = await first.supervisor.start({ ...order, graph: "detect", params: {} });
  assert.deepEqual((await first.inside(uuid)).attached, {});
  await first.supervisor.close();
  const path = `/data/${newUuid()}/0.mp4`;
  const needs = { ...broken, recordings: { isAllowed: () => true, segmentMs: 600_000, nextFile: async () => path } };
  const second = await stage({ needs, user: first.user, sourceUuid: first.sourceUuid });
  await second.reach(uuid, "running");
  assert.equal((await paramsOf(second, uuid, "recording")).path, path);
});
