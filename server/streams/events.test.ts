import assert from "node:assert/strict";
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { after, before, describe, test } from "node:test";
import type { TSchema } from "typebox";
import {
  AlertEvent,
  type AlertNotice,
  DetectionsEvent,
  StateEvent,
  StatsEvent,
  TelemetryEvent,
} from "../../schemas/api/events.ts";
import { DroneDataMessage } from "../../schemas/api/telemetry.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { ProcessTelemetry } from "../telemetry/process-telemetry.ts";
import { newUuid } from "../uuid.ts";
import { checkBy } from "../validation.ts";
import type { StagedProcess } from "./staged-processes.fixture.ts";
import { eventually, openStage, type Stage } from "./streams.fixture.ts";

const SCHEMAS: Readonly<Record<string, TSchema>> = {
  detections: DetectionsEvent,
  drone: DroneDataMessage,
  state: StateEvent,
  stats: StatsEvent,
  telemetry: TelemetryEvent,
  alert: AlertEvent,
};
const STATS = {
  fps_in: 25,
  fps_processed: 12,
  fps_out: 25,
  frames_dropped: 0,
  latency_ms: { p50: 80, p95: 120 },
  inference_ms: 42,
  rss_bytes: 1e8,
  loop_delay_ms: 1,
  restarts: 0,
  frames_lost: null,
};

interface Received {
  readonly event: string;
  readonly id: number;
  readonly data: JsonRecord;
}

async function openEvents({ port }: Stage, { uuid }: StagedProcess): Promise<IncomingMessage> {
  const asked = get({ port, path: `/process/${uuid}/events?api_key=ada`, agent: false });
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  assert.equal(answer.statusCode, 200);
  assert.equal(answer.headers["content-type"], "text/event-stream");
  assert.equal(answer.headers["content-encoding"], undefined);
  return answer;
}

/** Blocks of lines, as they come. */
async function* readBlocks(answer: IncomingMessage): AsyncGenerator<string> {
  let held = "";
  for await (const chunk of answer.setEncoding("utf8")) {
    held += chunk;
    const blocks = held.split("\n\n");
    held = blocks.pop() ?? "";
    yield* blocks;
  }
  assert.equal(held, "");
}

/** Every event, held against its schema. */
async function* readEvents(answer: IncomingMessage): AsyncGenerator<Received> {
  for await (const block of readBlocks(answer)) {
    const fields = new Map(block.split("\n").map((line) => line.split(/: (.*)/s, 2) as [string, string]));
    const event = fields.get("event");
    if (event === undefined) continue;
    const data = JSON.parse(fields.get("data") ?? "");
    const schema = SCHEMAS[event];
    assert.ok(schema !== undefined, `${event} is not an event`);
    assert.deepEqual(checkBy(schema)(data), []);
    yield { event, id: Number(fields.get("id")), data };
  }
}

describe("events of a process", () => {
  let stage: Stage;
  before(async () => {
    // A viewer is slow here for as long as the machine takes: it must not be let go for it.
    stage = await openStage({ queuedMessages: 10, stallMs: 120_000 });
  });
  after(() => stage.close());

  test("send its state to all viewers first, then what happens, and end with its last state", async () => {
    const process = stage.start();
    const viewers = await Promise.all(Array.from({ length: 5 }, () => openEvents(stage, process)));
    const received = viewers.map(async (viewer) => {
      const all: Received[] = [];
      for await (const event of readEvents(viewer)) all.push(event);
      return all;
    });
    process.detect();
    process.emit({ type: "stats", stats: STATS });
    assert.ok(process.telemetry instanceof ProcessTelemetry);
    process.emit({ type: "telemetry", telemetry: process.telemetry.info });
    process.emit({ type: "message", channel: "drone_data", message: { timestamp: 1 } });
    const notice: AlertNotice = {
      id: newUuid(),
      alert_uuid: newUuid(),
      alias: "gate",
      type: "flow-control",
      process_uuid: process.uuid,
      source_uuid: newUuid(),
      timestamp: new Date().toISOString(),
      event: "triggered",
      tracks: [],
      data: {},
    };
    process.emit({ type: "alert", notice });
    process.emit({ type: "reconnecting", reconnecting: true });
    process.emit({ type: "reconnecting", reconnecting: false });
    process.end("failed", "source_lost");
    for (const events of await Promise.all(received)) {
      const names = events.map(({ event }) => event);
      assert.deepEqual(names, [
        "state",
        "detections",
        "stats",
        "telemetry",
        "drone",
        "alert",
        "state",
        "state",
        "state",
      ]);
      const states = events.filter(({ event }) => event === "state").map(({ data }) => [data.state, data.reconnecting]);
      assert.deepEqual(states, [
        ["running", false],
        ["running", true],
        ["running", false],
        ["failed", false],
      ]);
      assert.deepEqual(events.at(-1)?.data.error, { code: "source_lost", detail: "It broke." });
      const ids = events.map(({ id }) => id);
      assert.ok(ids.every((id, i) => Number.isSafeInteger(id) && id > (ids[i - 1] ?? 0)));
    }
    assert.equal(process.followers.size, 0);
  });

  test("exclude internal data of the runner", async () => {
    const process = stage.start();
    const events = readEvents(await openEvents(stage, process));
    await events.next();
    process.emit({ type: "stats", stats: STATS });
    const { value } = await events.next();
    assert.ok(!JSON.stringify(value).includes("rss_bytes"));
    process.end();
  });

  test("start with the reconnection delay", async () => {
    const process = stage.start();
    const blocks = readBlocks(await openEvents(stage, process));
    assert.match((await blocks.next()).value ?? "", /^retry: \d+$/);
    process.end();
  });

  test("drop the oldest detections of a slow viewer, say how many, and keep every state", async () => {
    const process = stage.start();
    const answer = await openEvents(stage, process);
    answer.pause();
    const count = 300;
    for (let i = 0; i < count; i++) {
      process.detect({ source_uri: "x".repeat(100_000) });
      if (i === 100) process.emit({ type: "reconnecting", reconnecting: true });
      await new Promise(setImmediate);
    }
    process.end();
    const all: Received[] = [];
    for await (const event of readEvents(answer)) all.push(event);
    const dropped = all.reduce((sum, { data }) => sum + Number(data.dropped ?? 0), 0);
    assert.ok(dropped > 0, "nothing was dropped: the connection was never full");
    assert.equal(all.length + dropped, count + 3);
    assert.equal(all.filter(({ event }) => event === "state").length, 3);
    assert.equal(all.at(-1)?.data.state, "finished");
  });

  test("detect that a viewer has gone", async () => {
    const process = stage.start();
    const answer = await openEvents(stage, process);
    assert.equal(process.followers.size, 1);
    answer.destroy();
    await eventually(() => process.followers.size === 0, "no subscribers are left");
  });

  test("are rejected like every request, and HEAD does not subscribe", async () => {
    const process = stage.start();
    const url = `${stage.url}/process/${process.uuid}/events`;
    assert.equal((await fetch(url)).status, 403);
    assert.equal((await fetch(`${url}?api_key=bob`)).status, 404);
    const head = await fetch(url, { method: "HEAD", headers: { api_key: "ada" } });
    assert.deepEqual([head.status, head.headers.get("content-type")], [200, "text/event-stream"]);
    assert.equal(process.followers.size, 0);
  });
});

test("comments keep a connection without events alive", async () => {
  const stage = await openStage({ pingSeconds: 0.1 });
  try {
    const process = stage.start();
    let comments = 0;
    for await (const block of readBlocks(await openEvents(stage, process))) {
      if (block.startsWith(":")) comments += 1;
      if (comments === 3) break;
    }
    await eventually(() => process.followers.size === 0, "no subscribers are left");
  } finally {
    await stage.close();
  }
});
