/** Kills runners, the server and its database during a running process and an upload. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { type ClientRequest, request } from "node:http";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { awaitGone, commandOf, findDescendants, listDescendants } from "../../cli/serve/serving.fixture.ts";
import type { ProcessRecord, StartedProcess } from "../../schemas/api/processes.ts";
import type { SourceRecord } from "../../schemas/api/sources.ts";
import { Detections } from "../api/process-client.fixture.ts";
import { MASTER_KEY, TestService, uploadVideo } from "../api/service.fixture.ts";
import { type Camera, startCamera } from "../camera.fixture.ts";
import { makeClip, temporaryFolder } from "../graph.fixture.ts";
import { poll } from "../watch.fixture.ts";
import { progress, rounds, seededRandom } from "./rounds.fixture.ts";

type Victim = "runner" | "server" | "database";
const VICTIMS: readonly Victim[] = ["runner", "database", "server"];
const ROUNDS = rounds(1, 20);

const folder = temporaryFolder();

/** Retries on errors: the service may reject requests for a moment after a fault. */
function eventually<T>(what: string, read: () => Promise<T | null>): Promise<T> {
  let last = "";
  const tolerant = () =>
    read().catch((error: Error) => {
      last = `${error.message} ${error.cause ?? ""}`.trim();
      return null;
    });
  return poll(what, tolerant, { describe: () => last });
}

/** All runners: it is not known which one runs the process. */
function findVictims(service: TestService, victim: Victim): readonly number[] {
  const { pid } = service.serving;
  if (victim === "server") return [pid];
  const pattern = victim === "runner" ? /runner\.mjs/ : /postgres\b.*-D|bin\/postgres/;
  return findDescendants(pid, pattern);
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

/** Reconnects like a client that has lost its socket. */
const listen = (service: TestService, uuid: string, key: string): Promise<Detections> =>
  eventually("a socket", () =>
    Detections.open(`${service.url.replace(/^http/, "ws")}/process/${uuid}/detection_data?api_key=${key}`),
  );

async function killAndCheck(
  service: TestService,
  victim: Victim,
  started: StartedProcess,
  file: string,
): Promise<void> {
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
    assert.equal((await upload.outcome).status, null, "the upload ends with its server");
    assert.deepEqual(await awaitGone(children), [], "child processes outlived the server");
    await service.startAgain();
  } else {
    const { status, text } = await upload.finish();
    // 503: the database was unavailable when the upload ended; no part of the upload is kept.
    const isAllowed = victim === "runner" ? [201] : [201, 503];
    assert.ok(status !== null && isAllowed.includes(status), `${status} ${text}`);
  }

  // Everything that was confirmed before still exists: the process with its uuid, and every source.
  const after = await runs(service, uuid);
  assert.equal(after.source_uuid, before.source_uuid);
  if (victim === "runner") assert.ok(after.stats.restarts > before.stats.restarts, "the runner was replaced");
  const resumed = victim === "server" ? await listen(service, uuid, key) : detections;
  await resumed.next(2);
  resumed.close();
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
  await eventually("partial uploads are removed", async () => (listPartial(service).length === 0 ? true : null));

  // Repeating the upload succeeds, without a duplicate if the first one had succeeded.
  const made = await eventually("the repeated upload", () => uploadVideo(service, file));
  const { sources: all } = await service.expect<{ sources: SourceRecord[] }>(200, "GET", "/sources");
  assert.equal(all.filter(({ uuid: found }) => found === made.uuid).length, 1);
  assert.equal(listStored(service).length, all.filter(({ type }) => type === "file").length, "a file without a source");
}

let camera: Camera;
let service: TestService;
let uuid = "";
before(async () => {
  camera = await startCamera();
  service = await TestService.start({
    // Allows frequent kills, with short restart delays.
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
  test(`a killed ${victim} loses no process and no source, and leaves no partial upload`, {
    timeout: rounds(600_000, 7_200_000),
  }, async () => {
    const random = seededRandom();
    const json = { params: { every: 10 } };
    const started = await service.expect<StartedProcess>(201, "POST", `/start?source_uuid=${uuid}`, { json });
    for (let round = 0; round < ROUNDS; round++) {
      await sleep(random.next() * 300);
      const frames = 30 + VICTIMS.indexOf(victim) * ROUNDS + round;
      await killAndCheck(service, victim, started, await makeClip(folder, frames)).catch((cause: Error) => {
        throw new Error(`${cause.message}; the service logged:\n${service.serving.errors}`, { cause });
      });
      progress(`faults of the ${victim}`, round + 1, ROUNDS);
    }
    const record = await readProcess(service, started.process_uuid);
    assert.equal(record.error, null);
    await service.expect(200, "DELETE", `/process/${started.process_uuid}`);
  });

const BOUNDARY = "----half-and-half";

interface UploadOutcome {
  /** Null: the connection broke. */
  readonly status: number | null;
  readonly text: string;
}

/** An upload that stops in the middle until `finish`. */
class SlowUpload {
  readonly outcome: Promise<UploadOutcome>;
  readonly #request: ClientRequest;
  readonly #rest: Buffer;

  private constructor(url: string, file: string) {
    const head = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="slow.mp4"\r\nContent-Type: video/mp4\r\n\r\n`;
    const bytes = readFileSync(file);
    const half = bytes.length >> 1;
    this.#rest = Buffer.concat([bytes.subarray(half), Buffer.from(`\r\n--${BOUNDARY}--\r\n`)]);
    this.#request = request(`${url}/video`, {
      method: "POST",
      agent: false,
      headers: { api_key: MASTER_KEY, "Content-Type": `multipart/form-data; boundary=${BOUNDARY}` },
    });
    this.outcome = new Promise((resolve) => {
      this.#request.setTimeout(120_000, () => this.#request.destroy(new Error("no response to the upload")));
      this.#request.on("error", (error) => resolve({ status: null, text: error.message }));
      this.#request.on("response", (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (part: string) => (text += part));
        response.on("close", () => resolve({ status: response.complete ? (response.statusCode ?? null) : null, text }));
      });
    });
    this.#request.write(Buffer.concat([Buffer.from(head), bytes.subarray(0, half)]));
  }

  /** Resolves when the service has stored half of the file. */
  static async begin(service: TestService, file: string): Promise<SlowUpload> {
    const upload = new SlowUpload(service.url, file);
    let isOver = false;
    void upload.outcome.then(() => {
      isOver = true;
    });
    while (listPartial(service).length === 0 && !isOver) await new Promise((resolve) => setTimeout(resolve, 20));
    return upload;
  }

  finish(): Promise<UploadOutcome> {
    this.#request.end(this.#rest);
    return this.outcome;
  }
}

const listFiles = (...folder: readonly string[]): readonly string[] =>
  existsSync(join(...folder))
    ? readdirSync(join(...folder), { withFileTypes: true }).flatMap((entry) => (entry.isFile() ? [entry.name] : []))
    : [];

/** Files of running uploads. */
const listPartial = ({ folder }: TestService) => listFiles(folder.path, "data", "videos", "partial");

/** Files of stored videos. */
const listStored = ({ folder }: TestService) => listFiles(folder.path, "data", "videos");
