/** Runners, the server and its database killed in the middle of a running process and of an upload. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { awaitGone, listDescendants } from "../../cli/serve/serving.fixture.ts";
import type { ProcessRecord, StartedProcess } from "../../schemas/api/processes.ts";
import type { SourceRecord } from "../../schemas/api/sources.ts";
import { Detections } from "../api/process-client.fixture.ts";
import { TestService, uploadVideo } from "../api/service.fixture.ts";
import { makeClip, temporaryFolder } from "../graph.fixture.ts";
import { type Camera, startCamera } from "./camera.fixture.ts";
import { progress, rounds, seededRandom } from "./rounds.fixture.ts";
import { listKept, listPartial, SlowUpload } from "./slow-upload.fixture.ts";

type Victim = "runner" | "server" | "database";
const VICTIMS: readonly Victim[] = ["runner", "database", "server"];
const ROUNDS = rounds(1, 20);
const LIMIT_MS = 120_000;

const folder = temporaryFolder();

/** Asked again and again: a service that has just been hurt may refuse for a moment. */
async function eventually<T>(what: string, look: () => Promise<T | null>): Promise<T> {
  const deadlineMs = performance.now() + LIMIT_MS;
  let last = "";
  while (performance.now() < deadlineMs) {
    const found = await look().catch((error: Error) => {
      last = `${error.message} ${error.cause ?? ""}`.trim();
      return null;
    });
    if (found !== null) return found;
    await sleep(100);
  }
  return assert.fail(`still waiting for: ${what}; ${last}`);
}

const commandOf = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    return "";
  }
};

/** All of them: which of the runners has the process is nobody's business. */
function findVictims(service: TestService, victim: Victim): readonly number[] {
  const { pid } = service.serving;
  if (victim === "server") return [pid];
  const pattern = victim === "runner" ? /runner\.mjs/ : /postgres\b.*-D|bin\/postgres/;
  return listDescendants(pid).filter((child) => pattern.test(commandOf(child)));
}

const readProcess = async (service: TestService, uuid: string): Promise<ProcessRecord> =>
  (await service.call<ProcessRecord>("GET", `/process/${uuid}`)).body;

async function runs(service: TestService, uuid: string): Promise<ProcessRecord> {
  return eventually("the process runs", async () => {
    const record = await readProcess(service, uuid);
    assert.equal(record.state, "running", JSON.stringify(record));
    return record;
  });
}

/** As a client does whose socket is not its own any more. */
const listen = (service: TestService, uuid: string, key: string): Promise<Detections> =>
  eventually("a socket", () =>
    Detections.open(`${service.url.replace(/^http/, "ws")}/process/${uuid}/detection_data?api_key=${key}`),
  );

async function endure(service: TestService, victim: Victim, started: StartedProcess, file: string): Promise<void> {
  const { process_uuid: uuid, detection_data_url: socketUrl } = started;
  const key = new URL(socketUrl).searchParams.get("api_key") ?? "";
  const before = await runs(service, uuid);
  const { sources } = await service.expect<{ sources: SourceRecord[] }>(200, "GET", "/sources");
  const detections = await listen(service, uuid, key);
  const [first] = await detections.next(1);
  assert.equal(first?.process_uuid, uuid);

  const upload = await SlowUpload.begin(service, file);
  const children = listDescendants(service.serving.pid);
  const victims = findVictims(service, victim);
  assert.notEqual(victims.length, 0, `no ${victim} among ${children.map(commandOf).join("\n")}`);
  for (const pid of victims) process.kill(pid, "SIGKILL");

  if (victim === "server") {
    await service.serving.ended;
    assert.equal((await upload.outcome).status, null, "the upload went with its server");
    assert.deepEqual(await awaitGone(children), [], "something outlived its server");
    await service.startAgain();
  } else {
    const { status, text } = await upload.finish();
    // The database may be away at the one moment that counts; then nothing of the upload is left.
    const isAllowed = victim === "runner" ? [201] : [201, 503];
    assert.ok(status !== null && isAllowed.includes(status), `${status} ${text}`);
  }

  // What was promised before is there: the process under its own uuid, and every source.
  const after = await runs(service, uuid);
  assert.equal(after.source_uuid, before.source_uuid);
  if (victim === "runner") assert.ok(after.stats.restarts > before.stats.restarts, "the runner was replaced");
  const again = victim === "server" ? await listen(service, uuid, key) : detections;
  await again.next(2);
  again.close();
  detections.close();
  const left = await eventually("the sources", async () => {
    const listed = await service.call<{ sources: SourceRecord[] }>("GET", "/sources");
    return listed.status === 200 ? listed.body.sources : null;
  });
  for (const { uuid: known } of sources)
    assert.ok(
      left.some(({ uuid: found }) => found === known),
      "a source is lost",
    );
  await eventually("partial uploads are gone", async () => (listPartial(service).length === 0 ? true : null));

  // The upload can be made again, and is the one that there is if it had succeeded.
  const made = await eventually("the upload, again", () => uploadVideo(service, file));
  const { sources: all } = await service.expect<{ sources: SourceRecord[] }>(200, "GET", "/sources");
  assert.equal(all.filter(({ uuid: found }) => found === made.uuid).length, 1);
  assert.equal(
    listKept(service).length,
    all.filter(({ type }) => type === "file").length,
    "a file that no source names",
  );
}

let camera: Camera;
let service: TestService;
let uuid = "";
before(async () => {
  camera = await startCamera();
  service = await TestService.start({
    // Kills follow each other more closely here than they would be forgiven, and claims need not be waited for so long.
    env: {
      WINDHOVER_RUNNERS_RESTARTS: "1000",
      WINDHOVER_RUNNERS_RESTART_MOST_SECONDS: "1",
    },
  });
  const json = { alias: "yard", input_url: camera.url, stream_type: "rtsp" };
  ({ uuid } = await service.expect<SourceRecord>(201, "POST", "/stream", { json }));
});
after(async () => {
  await service?.close();
  camera?.kill();
});

for (const victim of VICTIMS)
  test(`a killed ${victim} costs no process, no source and no half of an upload`, {
    timeout: rounds(600_000, 7_200_000),
  }, async () => {
    const random = seededRandom();
    const json = { params: { every: 10 } };
    const started = await service.expect<StartedProcess>(201, "POST", `/start?source_uuid=${uuid}`, { json });
    for (let round = 0; round < ROUNDS; round++) {
      await sleep(random.next() * 300);
      const frames = 30 + VICTIMS.indexOf(victim) * ROUNDS + round;
      await endure(service, victim, started, await makeClip(folder, frames)).catch((cause: Error) => {
        throw new Error(`${cause.message}; the service logged:\n${service.serving.errors}`, { cause });
      });
      progress(`faults of the ${victim}`, round + 1, ROUNDS);
    }
    const record = await readProcess(service, started.process_uuid);
    assert.equal(record.error, null);
    await service.expect(200, "DELETE", `/process/${started.process_uuid}`);
  });
