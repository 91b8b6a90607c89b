/**
 * Alerts of a real process while their broker is killed, their webhook fails, and the service is killed: every notice of
 * the event stream arrives at both, in order for each alert, and duplicates are byte-identical.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import type { AlertRecord } from "../../schemas/api/alerts.ts";
import type { AlertEvent } from "../../schemas/api/events.ts";
import type { StartedProcess } from "../../schemas/api/processes.ts";
import { TestService, uploadVideo } from "../api/service.fixture.ts";
import { MISSING_CLIP, testClip } from "../clips.fixture.ts";
import { withoutModel } from "../golden/golden.fixture.ts";
import { temporaryFolder } from "../graph.fixture.ts";
import { Watch } from "../watch.fixture.ts";
import { openBroker, openHook, ReceivedNotices, receiveEvents } from "./notices.fixture.ts";
import { progress, rounds, seededRandom } from "./rounds.fixture.ts";

const LOAD_MS = rounds(0, 60_000);
/** Minimum number, also on a slow machine. */
const ROUNDS = rounds(1, 4);
/** Maximum number between two faults. */
const NOTICES = rounds(12, 60);
/** Alerts with a notice for nearly every frame. */
const FOLLOWED = rounds(8, 12);
/** Turns a hang into a failure. */
const LIMIT_MS = 120_000;

type Triple = [ReceivedNotices, ReceivedNotices, ReceivedNotices];

const clip = testClip("vtest.avi");
const skip = clip === null ? MISSING_CLIP : await withoutModel("default");

/** Loops the clip for the long run. */
function lengthen(file: string): string {
  if (LOAD_MS === 0) return file;
  const long = join(temporaryFolder(), "long.avi");
  execFileSync("ffmpeg", ["-v", "error", "-stream_loop", "9", "-i", file, "-c", "copy", long]);
  return long;
}

test("every notice of the event stream arrives at broker and webhook in order, while they fail and the service is killed", {
  ...{ skip, timeout: (ROUNDS + 3) * LIMIT_MS },
}, async (t) => {
  const random = seededRandom();
  const watch = new Watch();
  const [streamed, published, posted] = [1, 2, 3].map(() => new ReceivedNotices(watch)) as Triple;
  const [broker, hook, service] = await Promise.all([
    openBroker(published),
    openHook(posted, () => random.next()),
    TestService.start({
      env: {
        WINDHOVER_DELIVERY_RETRY_MOST_SECONDS: "0.5",
        WINDHOVER_RUNNERS_RESTARTS: "1000",
        // No other process is started.
        WINDHOVER_RUNNERS_SPARE: "0",
      },
    }),
  ]);
  t.after(() => service.close());
  const post = (path: string, type: string, more: object): Promise<AlertRecord> => {
    const config = { host: `127.0.0.1:${broker.port}`, topic: `alerts/${type}` };
    const output = [
      { type: "mqtt", config },
      { type: "webhook", config: { url: hook.url } },
    ];
    const json = { alias: type, type, filter: { class_names: ["person"] }, output, ...more };
    return service.expect<AlertRecord>(201, "POST", path, { json });
  };
  const source = await uploadVideo(service, lengthen(clip ?? ""));
  const { process_uuid: uuid } = await service.expect<StartedProcess>(
    ...[201, "POST", `/start?source_uuid=${source.uuid}`],
  );
  const events = receiveEvents(service, uuid, streamed);
  t.after(() => events.stop());
  // Permanent alerts, and alerts of this process.
  const alerts = await Promise.all([
    ...Array.from({ length: FOLLOWED }, (_, at) =>
      post(at % 2 === 0 ? "/alert" : `/alert/${uuid}`, "follow-track", { parameters: { interval_seconds: 0.1 } }),
    ),
    post("/alert", "filter-search", { trigger: { once_per_track: false } }),
    post(`/alert/${uuid}`, "flow-control", {
      ...{ region: { line: [[0.6, 0], [0.6, 1]] }, trigger: { count: 1, cooldown_seconds: 0 } }, // biome-ignore format: a line
    }),
  ]);

  const load = async (): Promise<void> => {
    const wanted = streamed.all.length + NOTICES * (0.2 + 0.8 * random.next());
    await watch.until(
      `${wanted} notices; the service logged:\n${service.serving.errors}`,
      () => streamed.all.length >= wanted,
      LIMIT_MS,
    );
  };
  const startedMs = performance.now();
  let faults = 0;
  do {
    const receivers = random.next() < 0.5 ? [broker, hook] : [hook, broker];
    await load();
    await receivers[0]?.fail();
    await load();
    await receivers[1]?.fail();
    await load();
    service.serving.child.kill("SIGKILL");
    await service.serving.ended;
    await service.startAgain();
    await load();
    for (const one of random.next() < 0.5 ? receivers : receivers.reverse()) {
      await one.recover();
      await load();
    }
    faults += 1;
    progress("rounds", faults, ROUNDS);
  } while (faults < ROUNDS || performance.now() - startedMs < LOAD_MS);
  const loadMs = performance.now() - startedMs;
  await service.expect(200, "DELETE", `/process/${uuid}`);
  await events.stop();

  const deadlineMs = performance.now() + LIMIT_MS;
  for (;;) {
    const { text } = await service.send("GET", "/metrics", {});
    const waiting = [...text.matchAll(/^windhover_delivery_waiting\{kind="\w+"\} (\d+)$/gm)].map(([, count]) => count);
    if (waiting.length === 2 && waiting.every((count) => count === "0")) break;
    assert.ok(
      performance.now() < deadlineMs,
      `${waiting} notices are still queued; the service logged:\n${service.serving.errors}`,
    );
    await wait(50);
  }
  let count = 0;
  for (const { uuid: alert, type } of alerts) {
    const hooked = posted.distinct(alert);
    // The broker forwards to its subscriber with a delay.
    await watch.until("all published notices", () => published.distinct(alert).length >= hooked.length);
    assert.deepEqual(
      published.distinct(alert),
      hooked,
      `broker and webhook received the same notices; seed ${random.seed}`,
    );
    const promised = streamed.distinct(alert).map(({ dropped: _, ...notice }: AlertEvent) => notice);
    const ids = new Set(promised.map(({ id }) => id));
    assert.deepEqual(
      hooked.filter(({ id }) => ids.has(id)),
      promised,
      `all arrived in order; seed ${random.seed}`,
    );
    if (type === "follow-track") assert.ok(promised.length > 0, "every alert has notices");
    count += hooked.length;
  }
  t.diagnostic(
    `${streamed.all.length} notices in the event stream, ${count} sent in ${Math.round(loadMs / 1000)} s; ${faults} failures of broker, webhook and service; duplicates: ${published.duplicates} at the broker, ${posted.duplicates} at the webhook`,
  );
});
