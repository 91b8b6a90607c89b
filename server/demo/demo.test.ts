import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { makeClip, temporaryFolder } from "../../test/graph.fixture.ts";
import { poll } from "../../test/watch.fixture.ts";
import { makeConfig } from "../api/app.fixture.ts";
import { ServiceError } from "../service-error.ts";
import { insertProcess, openSourcesService, type SourcesService } from "../sources/sources.fixture.ts";
import { silentLog } from "../store/database.fixture.ts";
import type { User } from "../user.ts";
import { Demo, type DemoDeps } from "./demo.ts";

const folder = temporaryFolder();
let service: SourcesService;
let clip = "";
before(async () => {
  [service, clip] = await Promise.all([openSourcesService(), makeClip(folder, 10, "width=64&height=48")]);
});
after(() => service?.close());

const BUSY = new ServiceError("pipeline_failed", { detail: "this machine is too busy" });

interface Stage {
  readonly demo: Demo;
  readonly user: User;
  listSources(): Promise<readonly { readonly alias: string; readonly loop: boolean }[]>;
}

/** Real sources and an own user; processes are rows only. `faults`: of the first starts of a process. */
async function stage(deps: Partial<DemoDeps> = {}, faults: readonly Error[] = []): Promise<Stage> {
  const { sql, sources } = service;
  const { user, call } = await service.addUser();
  const left = [...faults];
  const demo = new Demo({
    ...{ sql, sources, config: makeConfig(), log: silentLog, prepareClip: async () => clip },
    processes: {
      async start({ sourceUuid }) {
        const fault = left.shift();
        if (fault !== undefined) throw fault;
        return { uuid: await insertProcess(sql, user.uuid, sourceUuid, "running"), sourceUuid, telemetry: null };
      },
      async stop(_, uuid) {
        await sql`update processes set state = 'finished' where uuid = ${uuid}`;
      },
      resume: () => assert.fail("no process is paused"),
    },
    ...deps,
  });
  return { demo, user, listSources: async () => (await call("GET", "/sources")).body.sources };
}

test("registers a looped video and starts a process on it, once; a stop removes both", async () => {
  const { demo, user, listSources } = await stage();
  const [first, second] = await Promise.all([demo.start(user), demo.start(user)]);
  assert.deepEqual([first, first.isNew], [second, true]);
  const { isNew, ...running } = await demo.start(user);
  assert.deepEqual([running, isNew], [{ source_uuid: first.source_uuid, process_uuid: first.process_uuid }, false]);
  assert.deepEqual(await demo.describe(user), { state: "running", ...running, detail: null });
  assert.deepEqual(
    (await listSources()).map(({ alias, loop }) => [alias, loop]),
    [["Demo: street", true]],
  );
  assert.deepEqual(await Promise.all([demo.stop(user), demo.stop(user)]), [first.source_uuid, first.source_uuid]);
  assert.deepEqual(await listSources(), []);
  assert.equal((await demo.describe(user)).state, "off");
  await assert.rejects(demo.stop(user), { code: "demo_not_found" });
});

test("a process that cannot start on a busy machine is retried", async () => {
  const { demo, user } = await stage({}, [BUSY, BUSY]);
  assert.equal((await demo.start(user)).isNew, true);
});

test("a failed start is reported and leaves no source", async () => {
  const fault = new ServiceError("processes_limit_reached", { detail: "process limit reached" });
  const { demo, user, listSources } = await stage({}, [fault]);
  await assert.rejects(demo.start(user), { code: "processes_limit_reached" });
  assert.deepEqual(await listSources(), []);
  const { state, detail } = await demo.describe(user);
  assert.deepEqual([state, detail], ["off", fault.message]);
});

test("a clip that cannot be prepared is reported, and leaves no source", async () => {
  const prepareClip: DemoDeps["prepareClip"] = async ({ file }) => {
    throw new Error(`${file} is not a video`);
  };
  const { demo, user, listSources } = await stage({ prepareClip, config: makeConfig({ DEMO_CLIP: "own.mkv" }) });
  await assert.rejects(demo.start(user), { code: "demo_unavailable", message: "own.mkv is not a video" });
  assert.deepEqual(await listSources(), []);
});

/** A download that never ends by itself. */
const prepareClip: DemoDeps["prepareClip"] = ({ onStage, signal }) => {
  onStage("fetching");
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));
};

test("shows that the clip is downloaded; a stop or the end of the service aborts it", async () => {
  const { demo, user } = await stage({ prepareClip });
  const stages: string[] = [];
  const untilFetching = () => poll("fetching", async () => (await demo.describe(user)).state === "fetching");
  const stopped = assert.rejects(
    demo.start(user, (stage) => stages.push(stage)),
    { code: "demo_unavailable" },
  );
  await untilFetching();
  assert.deepEqual(stages, ["fetching"]);
  await assert.rejects(demo.stop(user), { code: "demo_not_found" });
  await stopped;
  const closed = assert.rejects(demo.start(user), { code: "shutting_down" });
  await untilFetching();
  await demo.close();
  await closed;
});
