/**
 * Alerts of a real process while their broker is killed, their webhook refuses, and the service is killed in between:
 * every notice that followers of the process were told of arrives at both, in order for each alert, and copies are the
 * same to the byte.
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
import { followNotices, Heard, openBroker, openHook } from "./notices.fixture.ts";
import { progress, rounds, seededRandom } from "./rounds.fixture.ts";

const LOAD_MS = rounds(0, 60_000);
/** At least, however slow the machine. */
const ROUNDS = rounds(1, 4);
/** Between two blows, at most. */
const NOTICES = rounds(12, 60);
/** Alerts that tell something of nearly every picture. */
const FOLLOWED = rounds(8, 12);
/** Nobody waits for ever. */
const LIMIT_MS = 120_000;

const clip = testClip("vtest.avi");
const skip = clip === null ? MISSING_CLIP : await withoutModel("default");

/** Long enough for all of it. */
function lengthen(file: string): string {
  if (LOAD_MS === 0) return file;
  const long = join(temporaryFolder(), "long.avi");
  execFileSync("ffmpeg", ["-v", "error", "-stream_loop", "9", "-i", file, "-c", "copy", long]);
  return long;
}

test("every notice that was told of arrives at broker and webhook in order, whatever is away or killed meanwhile", {
  ...{ skip, timeout: (ROUNDS + 3) * LIMIT_MS },
}, async (t) => {
  const random = seededRandom();
  const watch = new Watch();
  const [told, published, posted] = [new Heard(watch), new Heard(watch), new Heard(watch)];
  const [broker, hook, service] = await Promise.all([
    openBroker(published),
    openHook(posted, () => random.next()),
    TestService.start({
      env: {
        WINDHOVER_DELIVERY_RETRY_FIRST_SECONDS: "0.1",
        WINDHOVER_DELIVERY_RETRY_MOST_SECONDS: "0.5",
        WINDHOVER_RUNNERS_RESTARTS: "1000",
        // Nobody starts another process.
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
  const followers = followNotices(service, uuid, told);
  t.after(() => followers.stop());
  // Those that stay, and those that go with the process.
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
    const wanted = told.all.length + NOTICES * (0.2 + 0.8 * random.next());
    await watch.until(
      `${wanted} notices; it logged:\n${service.serving.errors}`,
      () => told.all.length >= wanted,
      LIMIT_MS,
    );
  };
  const startedMs = performance.now();
  let blows = 0;
  do {
    const away = random.next() < 0.5 ? [broker, hook] : [hook, broker];
    await load();
    await away[0]?.leave();
    await load();
    await away[1]?.leave();
    await load();
    service.serving.child.kill("SIGKILL");
    await service.serving.ended;
    await service.startAgain();
    await load();
    for (const one of random.next() < 0.5 ? away : away.reverse()) {
      await one.comeBack();
      await load();
    }
    blows += 1;
    progress("rounds", blows, ROUNDS);
  } while (blows < ROUNDS || performance.now() - startedMs < LOAD_MS);
  const loadMs = performance.now() - startedMs;
  await service.expect(200, "DELETE", `/process/${uuid}`);
  await followers.stop();

  const deadlineMs = performance.now() + LIMIT_MS;
  for (;;) {
    const { text } = await service.send("GET", "/metrics", {});
    const waiting = [...text.matchAll(/^windhover_delivery_waiting\{kind="\w+"\} (\d+)$/gm)].map(([, count]) => count);
    if (waiting.length === 2 && waiting.every((count) => count === "0")) break;
    assert.ok(performance.now() < deadlineMs, `${waiting} still wait; it logged:\n${service.serving.errors}`);
    await wait(50);
  }
  let count = 0;
  for (const { uuid: alert, type } of alerts) {
    const hooked = posted.distinct(alert);
    // What the broker has is not yet with its subscriber.
    await watch.until("all that was published", () => published.distinct(alert).length >= hooked.length);
    assert.deepEqual(published.distinct(alert), hooked, `broker and webhook were told alike; seed ${random.seed}`);
    const promised = told.distinct(alert).map(({ dropped: _, ...notice }: AlertEvent) => notice);
    const ids = new Set(promised.map(({ id }) => id));
    assert.deepEqual(
      hooked.filter(({ id }) => ids.has(id)),
      promised,
      `all arrived in order; seed ${random.seed}`,
    );
    if (type === "follow-track") assert.ok(promised.length > 0, "of each something was told");
    count += hooked.length;
  }
  t.diagnostic(
    `${told.all.length} notices told of, ${count} made in ${Math.round(loadMs / 1000)} s; broker and webhook away and the service killed ${blows} times; copies: ${published.copies} at the broker, ${posted.copies} at the webhook`,
  );
});
