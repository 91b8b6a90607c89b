/** Routes of outputs, and recordings, over the runners of a process; then the outputs alone. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonRecord } from "../../schemas/json.ts";
import { makeConfig } from "../api/app.fixture.ts";
import { StillMedia } from "../media/media.fixture.ts";
import { NoRoute, type OutputRoute, type RouteOutput, routeOutputs } from "../outputs/route-output.ts";
import { ServiceError } from "../service-error.ts";
import type { AttachedOutput } from "../store/outputs.ts";
import { newUuid } from "../uuid.ts";
import { ProcessOutputs } from "./outputs.ts";
import { addOutput, openStages, rejectsWith, type Stage, type StageOptions } from "./supervisor.fixture.ts";

const media = new StillMedia();
const routeOutput = routeOutputs({ media, network: makeConfig({}).network });
const { database, stage } = await openStages((options) => ({ ...options, needs: { routeOutput, ...options.needs } }));

/** The params of an output in the runner. */
async function paramsOf({ inside }: Stage, process: string, output: string): Promise<JsonRecord> {
  const { outputs } = (await inside(process)) as unknown as { outputs: Record<string, JsonRecord> };
  return outputs[output] ?? {};
}

async function passwordOf(stage: Stage, process: string, output: string): Promise<string> {
  return new URL(String((await paramsOf(stage, process, output)).url)).password;
}

async function restarted({ waitFor, reach }: Stage, uuid: string): Promise<void> {
  await waitFor(uuid, (notice) => notice.type === "stats" && notice.stats.restarts > 0);
  await reach(uuid, "running");
}

test("an rtsp output has a token while it is attached, and another for every runner", async () => {
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

test("shows the status of outputs without secrets, and resets it with every runner", async () => {
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
  const lost = { outputUuid: output, type: "rtsp", status: "retrying", detail: "rtmp://***@there/ is unreachable" };
  assert.deepEqual(states(), [
    { ...lost, framesSent: 5, framesDropped: 1 },
    { outputUuid: data, type: "detection_data", status: "live", detail: null, framesSent: 0, framesDropped: 0 },
  ]);
  await supervisor.detach(user, uuid, output);
  assert.equal(states()?.length, 1);
});

test("rejects an output at a denied address, and retries one whose name cannot be resolved", async () => {
  const opened = await stage({ limits: { lookupMs: 100 } });
  const { supervisor, user, start, row, inside } = opened;
  const uuid = await start();
  const at = async (url: string): Promise<string> => {
    const output = await addOutput(database.sql, user, "rtmp");
    await database.sql`update outputs set url = ${database.sql.typed.sealed(url)} where uuid = ${output}`;
    return output;
  };
  const refused = await at("rtmp://169.254.169.254/live/a");
  await assert.rejects(supervisor.attach(user, uuid, refused), rejectsWith("address_refused"));
  assert.deepEqual((await row(uuid))?.outputs, []);
  const lost = await at("rtmp://nowhere.invalid/live/a");
  await supervisor.attach(user, uuid, lost);
  const [state] = supervisor.view(uuid)?.outputs ?? [];
  assert.deepEqual([state?.status, state?.detail], ["retrying", "no host of the name nowhere.invalid can be found"]);
  assert.deepEqual((await inside(uuid)).attached, {});
  await supervisor.detach(user, uuid, lost);
  assert.deepEqual((await row(uuid))?.outputs, []);
});

test("attaches an output when its name is resolved, and again when its address changes", async () => {
  let address: string | null = null;
  const routes: StageOptions["needs"] = {
    routeOutput: async (_, failing) => {
      if (address === null) throw new Error("not found");
      return failing?.params.address === address ? failing : { params: { url: "rtmp://x", address }, release() {} };
    },
  };
  const opened = await stage({ limits: { lookupMs: 100 }, needs: routes });
  const { supervisor, user, start } = opened;
  const uuid = await start({ outputStatus: "retrying" });
  const output = await addOutput(database.sql, user, "rtmp");
  await supervisor.attach(user, uuid, output);
  for (const next of ["192.0.2.1", "192.0.2.2"]) {
    address = next;
    while ((await paramsOf(opened, uuid, output)).address !== next);
  }
});

test("records a process of a key with recording, one file per runner, while there is disk space", async () => {
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
  const opened = await stage({ limits: { lookupMs: 100 }, needs });
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

test("records a resumed process if its key has recording, and runs it if recording fails", async () => {
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

const output = (outputUuid: string, type: AttachedOutput["type"] = "rtmp"): AttachedOutput => ({
  ...{ outputUuid, type, url: "rtmp://there/live/a", settings: null, codec: "h264", username: "ada" },
});

/** Routes as the test says: an error is thrown, a text is the URL, and the same text is the same route. */
class Routes {
  readonly open = new Set<OutputRoute>();
  next: string | Error = "one";

  readonly find: RouteOutput = async ({ type }, failing) => {
    if (type === "detection_data") return null;
    if (this.next instanceof Error) throw this.next;
    if (failing?.params.url === this.next) return failing;
    const route = { params: { url: this.next }, release: () => void this.open.delete(route) };
    this.open.add(route);
    return route;
  };
}

const report = (attachment: string, status: "live" | "retrying", detail: string | null = null) =>
  ({ type: "attachment", attachment, status, detail, framesSent: 7, framesDropped: 2 }) as const;

test("attaches an added output, shows its reports from the first one on, and releases its route when it is deleted", async () => {
  const routes = new Routes();
  const outputs = new ProcessOutputs([], routes.find);
  await outputs.add(output("a"), async ({ id, slot, params }) => {
    assert.deepEqual([id, slot, params], ["a", "rtmp", { url: "one" }]);
    assert.deepEqual([outputs.attachments, outputs.states], [[], []], "a runner that begins now does not have it");
    outputs.handle(report("a", "live"));
  });
  assert.deepEqual(outputs.states, [
    { outputUuid: "a", type: "rtmp", status: "live", detail: null, framesSent: 7, framesDropped: 2 },
  ]);
  assert.equal(routes.open.size, 1);
  outputs.delete("a");
  assert.deepEqual([outputs.has("a"), routes.open.size], [false, 0]);
  outputs.handle(report("a", "live"));
  assert.deepEqual(outputs.states, []);
});

test("leaves nothing of an output that is rejected", async () => {
  const routes = new Routes();
  const outputs = new ProcessOutputs([], routes.find);
  const refusal = new Error("no encoder");
  await assert.rejects(
    outputs.add(output("a"), () => Promise.reject(refusal)),
    refusal,
  );
  routes.next = new ServiceError("address_refused", { detail: "not there" });
  await assert.rejects(
    outputs.add(output("a"), () => assert.fail("it was attached")),
    routes.next,
  );
  assert.deepEqual([outputs.states, routes.open.size], [[], 0]);
});

test("data outputs need no route and are live", async () => {
  const outputs = new ProcessOutputs([], new Routes().find);
  await outputs.add(output("a", "detection_data"), () => assert.fail("it was attached"));
  assert.deepEqual([outputs.isRouted("a"), outputs.states[0]?.status], [false, "live"]);
});

test("finds new routes for every runner and releases those of the one before", async () => {
  const routes = new Routes();
  const outputs = new ProcessOutputs([output("a"), output("b", "rtsp"), output("c", "detection_data")], routes.find);
  await outputs.prepare();
  const first = [...routes.open];
  assert.deepEqual(
    outputs.attachments.map(({ id, slot }) => [id, slot]),
    [
      ["a", "rtmp"],
      ["b", "rtsp"],
    ],
  );
  outputs.handle(report("a", "retrying", "rtmp://u:sesame@there is unreachable"));
  assert.equal(outputs.states[0]?.detail, "rtmp://***@there is unreachable");
  outputs.endRun();
  assert.deepEqual([routes.open.size, outputs.states[0]?.status, outputs.states[0]?.detail], [0, "starting", null]);
  await outputs.prepare();
  assert.equal(routes.open.size, 2);
  assert.ok(first.every((route) => !routes.open.has(route)));
});

test("a runner begins without outputs that have no route, which show why", async () => {
  const routes = new Routes();
  const outputs = new ProcessOutputs([output("a")], routes.find);
  for (const [error, status] of [
    [new ServiceError("address_refused", { detail: "not there" }), "failed"],
    [new NoRoute("no such host"), "retrying"],
    [new TypeError("broken"), "retrying"],
  ] as const) {
    routes.next = error;
    await outputs.prepare();
    assert.deepEqual(outputs.attachments, []);
    assert.deepEqual([outputs.states[0]?.status, outputs.states[0]?.detail], [status, error.message]);
  }
});

test("attaches a failing output again when there is another route", async () => {
  const routes = new Routes();
  const outputs = new ProcessOutputs([output("a"), output("b", "rtsp")], routes.find);
  await outputs.prepare();
  const orders: string[] = [];
  const tend = async () =>
    outputs.applyReroutes(
      await outputs.findReroutes(),
      { detach: async (uuid) => void orders.push(`detach ${uuid}`) },
      async ({ id, params }) => void orders.push(`attach ${id} ${params.url}`),
    );
  for (const status of ["live", "retrying"] as const) {
    for (const uuid of ["a", "b"]) outputs.handle(report(uuid, status));
    await tend();
    assert.deepEqual(orders, [], "the route is the same");
  }
  routes.next = "two";
  await tend();
  assert.deepEqual(orders.splice(0), ["detach a", "attach a two"]);
  assert.equal(outputs.states[0]?.status, "starting");
  assert.equal(routes.open.size, 2, "the routes in use");
  outputs.handle(report("a", "retrying"));
  routes.next = new NoRoute("no such host");
  await tend();
  assert.deepEqual(orders.splice(0), ["detach a"]);
  assert.equal(routes.open.size, 1, "the route of b");
  await tend();
  routes.next = "three";
  await tend();
  assert.deepEqual(orders, ["attach a three"]);
});

test("releases the routes of an output that can be neither detached nor attached", async () => {
  for (const fails of ["detach", "attach"]) {
    const routes = new Routes();
    const outputs = new ProcessOutputs([output("a")], routes.find);
    await outputs.prepare();
    outputs.handle(report("a", "retrying"));
    routes.next = "two";
    const ask = async (what: string): Promise<void> => {
      if (what === fails) throw new Error("the runner is busy");
    };
    const applied = outputs.applyReroutes(await outputs.findReroutes(), { detach: () => ask("detach") }, () =>
      ask("attach"),
    );
    if (fails === "detach") await assert.rejects(applied, /busy/);
    else await applied;
    assert.equal(routes.open.size, fails === "detach" ? 1 : 0);
    outputs.endRun();
    assert.equal(routes.open.size, 0);
  }
});

test("looks up names in parallel and skips outputs that have changed meanwhile", async () => {
  let asked = 0;
  let answer = (): void => {};
  const all = new Promise<void>((resolve) => {
    answer = resolve;
  });
  let hasBegun = false;
  const routes = new Routes();
  const outputs = new ProcessOutputs([output("a"), output("b")], async (given, failing) => {
    if (!hasBegun) return routes.find(given, failing);
    if (++asked === 2) answer();
    await all;
    return routes.find(given, failing);
  });
  await outputs.prepare();
  for (const uuid of ["a", "b"]) outputs.handle(report(uuid, "retrying"));
  hasBegun = true;
  routes.next = "two";
  const reroutes = await outputs.findReroutes();
  outputs.delete("a");
  const orders: string[] = [];
  await outputs.applyReroutes(
    reroutes,
    { detach: async (uuid) => void orders.push(`detach ${uuid}`) },
    async ({ id, params }) => void orders.push(`attach ${id} ${params.url}`),
  );
  assert.deepEqual(orders, ["detach b", "attach b two"]);
  assert.equal(routes.open.size, 1, "the second route of b");
  outputs.endRun();
  assert.equal(routes.open.size, 0);
});
