/** Many starts at the same time, on a machine whose cores are all busy: each gets its response within the time limit. */
import assert from "node:assert/strict";
import { availableParallelism } from "node:os";
import { after, test } from "node:test";
import { Worker } from "node:worker_threads";
import type { ProcessRecord, StartedProcess } from "../../schemas/api/processes.ts";
import { TestService, uploadVideo } from "../api/service.fixture.ts";
import { makeClip, temporaryFolder } from "../graph.fixture.ts";
import { rounds } from "./rounds.fixture.ts";

const STARTS = rounds(6, 20);
/** Of one start. */
const LIMIT_S = rounds(20, 30);
/** For a busy machine to send a response that is due, as a share of the limit. */
const LATE = 0.5;

const BUSY = "for (;;);";

test("starts at the same time on a busy machine are all answered in time, and none is left behind", {
  timeout: 600_000,
}, async () => {
  const env = { WINDHOVER_RUNNERS_START_SECONDS: String(LIMIT_S), WINDHOVER_LIMITS_PROCESSES: String(STARTS) };
  const service = await TestService.start({ env });
  after(() => service.close());
  const { uuid } = await uploadVideo(service, await makeClip(temporaryFolder(), 250), { loop: true });
  const busy = Array.from({ length: availableParallelism() }, () => new Worker(BUSY, { eval: true }));
  const answers = await Promise.all(
    Array.from({ length: STARTS }, async () => {
      const startedMs = performance.now();
      const json = { params: { every: 25 } };
      const { status, body } = await service.call<StartedProcess & { detail?: string }>(
        "POST",
        `/start?source_uuid=${uuid}`,
        { json },
      );
      return { status, body, share: (performance.now() - startedMs) / 1000 / LIMIT_S };
    }),
  );
  await Promise.all(busy.map((worker) => worker.terminate()));
  const started = answers.filter(({ status }) => status === 201);
  const slowest = Math.max(...answers.map(({ share }) => share));
  process.stderr.write(
    `${started.length} of ${STARTS} started, the slowest after ${slowest.toFixed(2)} of the limit\n`,
  );
  assert.ok(started.length > 0, JSON.stringify(answers[0]?.body));
  for (const { status, body, share } of answers) {
    assert.ok(share < 1 + LATE, `a response took ${share.toFixed(2)} of the limit`);
    if (status === 201) continue;
    assert.equal(status, 503, JSON.stringify(body));
    assert.match(body.detail ?? "", /too busy to start it within/);
  }
  const { processes } = await service.expect<{ processes: readonly ProcessRecord[] }>(200, "GET", "/processes");
  const running = processes.filter(({ state }) => state === "running" || state === "starting");
  assert.deepEqual(
    running.map(({ process_uuid }) => process_uuid).sort(),
    started.map(({ body }) => body.process_uuid).sort(),
  );
});
