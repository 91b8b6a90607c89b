/** Requests generated from the OpenAPI document: every response is one that the document declares. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import fc from "fast-check";
import { requestsOf, unknownNamesOf } from "../api/fuzz-requests.ts";
import { MASTER_KEY, TestService, uploadVideo } from "../api/service.fixture.ts";
import { makeClip, temporaryFolder } from "../graph.fixture.ts";
import { progress, rounds } from "./rounds.fixture.ts";

/** A low limit: requests start processes, which would slow down the following requests. */
const service = await TestService.start({
  env: { WINDHOVER_LIMITS_PROCESSES: "2", WINDHOVER_RUNNERS_START_SECONDS: "30" },
});
after(() => service.close());
const clip = await makeClip(temporaryFolder(), 3_000, "width=64&height=48");

const TOTAL = rounds(60, 5_000);
/** Resources are recreated for every batch: requests also delete them. */
const BATCH = rounds(60, 500);
const SEED = Number(process.env.WINDHOVER_SEED ?? Date.now() % 1e9);
const NAMES = ["detect", "record", "demo", "queue", "source", "filesink"];

/** Creates resources, so that not every request ends with 404: sources, an output, a process with little inference. */
async function createResources(): Promise<readonly string[]> {
  const make = async (path: string, json: unknown): Promise<string> => {
    const { text } = await service.send("POST", path, { json });
    const { uuid, process_uuid } = JSON.parse(text) as { uuid?: string; process_uuid?: string };
    return uuid ?? process_uuid ?? assert.fail(text);
  };
  await service.send("DELETE", "/processes", {});
  const video = (await uploadVideo(service, clip)).uuid;
  const telemetry_cfg = { type: "static", parameters: { sensor_hfov: 60, sensor_vfov: 34 } };
  await service.send("PATCH", `/source/${video}`, { json: { telemetry_cfg } });
  const stream = await make("/stream", { alias: "yard", input_url: "rtsp://127.0.0.1:9/none", stream_type: "rtsp" });
  const output = await make("/output", { alias: "data", type: "detection_data" });
  const process = await make(`/start?source_uuid=${video}`, { params: { every: 1000 } });
  return [video, stream, output, process, process, "01890000-0000-7000-8000-000000000000"];
}

async function sendBatch(seed: number, count: number): Promise<void> {
  const { contract } = service;
  const world = { contract, key: MASTER_KEY, uuids: await createResources(), names: NAMES };
  const requests = fc.oneof(...contract.operations.map((operation) => requestsOf(operation, world)));
  await fc.assert(
    fc.asyncProperty(requests, async ({ operation, method, path, headers, body }) => {
      const answer = await service.send(method, path, { headers, key: null, ...(body !== null && { body }) });
      const reached = contract.find(method, path.split("?")[0] ?? path);
      assert.deepEqual(
        contract.check(reached ?? operation, answer),
        [],
        `${method} ${path} ${JSON.stringify(headers)} ${body?.slice(0, 500)}\n→ ${answer.status} ${answer.text.slice(0, 500)}`,
      );
    }),
    // No shrinking: requests change the state for the next ones, and a hanging request would hang hundreds of times.
    { numRuns: count, seed, endOnFailure: true },
  );
}

test(`${TOTAL} generated requests get documented responses (seed ${SEED})`, { timeout: 3_600_000 }, async () => {
  assert.ok(service.contract.operations.length >= 20, "the document lists the operations");
  for (let sent = 0; sent < TOTAL; sent += BATCH) {
    await sendBatch(SEED + sent, BATCH);
    progress("fuzz", sent + BATCH, TOTAL);
  }
  assert.equal((await service.send("GET", "/status", { key: null })).status, 200);
});

test(`${TOTAL} requests with an unknown field or parameter are rejected, each with its name`, {
  timeout: 3_600_000,
}, async () => {
  const { contract } = service;
  const world = { contract, key: MASTER_KEY, uuids: await createResources(), names: NAMES };
  const strict = contract.operations.filter((operation) => operation["x-any-query"] !== true);
  const requests = fc.oneof(...strict.map((operation) => unknownNamesOf(operation, world)));
  let sent = 0;
  await fc.assert(
    fc.asyncProperty(requests, async ({ path: unknown, request: { method, path, headers, body } }) => {
      const answer = await service.send(method, path, { headers, key: null, ...(body !== null && { body }) });
      const what = `${method} ${path} ${body}\n→ ${answer.status} ${answer.text.slice(0, 500)}`;
      assert.equal(answer.status, 422, what);
      const { errors } = JSON.parse(answer.text) as { readonly errors: readonly { readonly path: string }[] };
      assert.ok(
        errors.some((error) => error.path === unknown),
        what,
      );
      sent += 1;
      if (sent % BATCH === 0) progress("unknown names", sent, TOTAL);
    }),
    { numRuns: TOTAL, seed: SEED, endOnFailure: true },
  );
});
