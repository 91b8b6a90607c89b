/** Alerts of a real process on a real clip, through the whole service to a real broker and a webhook. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import type { AlertDescription, AlertRecord } from "../../schemas/api/alerts.ts";
import { AlertEvent, AlertNotice } from "../../schemas/api/events.ts";
import type { OutputRecord } from "../../schemas/api/outputs.ts";
import type { Problem } from "../../schemas/api/problem.ts";
import type { ProcessRecord, StartedProcess } from "../../schemas/api/processes.ts";
import { eventually } from "../../server/streams/streams.fixture.ts";
import { checkBy } from "../../server/validation.ts";
import { MISSING_CLIP, testClip } from "../clips.fixture.ts";
import { withoutModel } from "../golden/golden.fixture.ts";
import { openMosquitto } from "../mosquitto.fixture.ts";
import { Watch } from "../watch.fixture.ts";
import { reduceClip } from "./people.fixture.ts";
import { Detections } from "./process-client.fixture.ts";
import { type ServiceClient, uploadVideo } from "./service.fixture.ts";
import { shareService } from "./shared-service.fixture.ts";

const clip = testClip("vtest.avi");
const skip = clip === null ? MISSING_CLIP : await withoutModel("default");

const service = await shareService("alerts");
const watch = new Watch();
const checkNotice = checkBy(AlertNotice);
const checkEvent = checkBy(AlertEvent);

/** Received notices; each is checked against its schema. */
class Notices {
  readonly all: AlertNotice[] = [];

  add(bytes: Uint8Array): void {
    const notice = JSON.parse(String(bytes)) as AlertNotice;
    assert.deepEqual(checkNotice(notice), [], String(bytes));
    this.all.push(notice);
    watch.check();
  }

  of(alert: AlertRecord): readonly AlertNotice[] {
    return this.all.filter(({ alert_uuid }) => alert_uuid === alert.uuid);
  }
}

async function openReceiver(notices: Notices): Promise<string> {
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    assert.match(String(request.headers["webhook-signature"]), /^v1,/);
    notices.add(Buffer.concat(parts));
    response.end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/alerts`;
}

/** A player that runs until the end of the test, with its number of frames. */
class Player {
  frames = 0;
  readonly child: ChildProcess;

  constructor(url: string) {
    const args = [
      "-v",
      "error",
      "-nostdin",
      "-progress",
      "pipe:1",
      "-rtsp_transport",
      "tcp",
      "-i",
      url,
      "-f",
      "null",
      "-",
    ];
    this.child = spawn("ffmpeg", args, { stdio: ["ignore", "pipe", "ignore"] });
    after(() => this.child.kill("SIGKILL"));
    this.child.stdout?.on("data", (text) => {
      for (const [, frames] of String(text).matchAll(/^frame=(\d+)/gm)) this.frames = Number(frames);
      watch.check();
    });
    this.child.once("exit", () => watch.check());
  }

  async shows(more: number): Promise<void> {
    const wanted = this.frames + more;
    await watch.until(`${more} more frames`, () => this.frames >= wanted || this.child.exitCode !== null, 120_000);
    assert.equal(this.child.exitCode, null, "the player has exited");
  }
}

/** Resolves with the first event of that name. */
async function readEvent(service: ServiceClient, uuid: string, name: string): Promise<unknown> {
  const response = await fetch(`${service.url}/process/${uuid}/events`, { headers: { api_key: service.key } });
  let text = "";
  for await (const part of response.body ?? []) {
    text += Buffer.from(part).toString();
    const found = new RegExp(`event: ${name}\nid: \\d+\ndata: ([^\n]*)\n\n`).exec(text);
    if (found !== null) return JSON.parse(found[1] ?? "");
  }
  return assert.fail(`the events ended without "${name}"`);
}

test("each type notifies its broker; a forced change applies at once and does not disturb client, output and tracks", {
  skip,
}, async (context) => {
  const broker = await openMosquitto();
  const [notices, hooked] = [new Notices(), new Notices()];
  const subscriber = await broker.connect();
  subscriber.on("message", (_, bytes) => notices.add(bytes));
  await subscriber.subscribeAsync("alerts/#", { qos: 1 });
  const mqtt = { type: "mqtt", config: { host: `127.0.0.1:${broker.port}`, topic: "alerts/yard" } };
  const webhook = { type: "webhook", config: { url: await openReceiver(hooked) } };
  const post = async (path: string, type: string, more: object): Promise<AlertRecord> => {
    const described = await service.expect<AlertDescription>(200, "GET", `/alert_description?name=${type}`);
    assert.equal(described.name, type);
    const json = { alias: type, type, filter: { class_names: ["person"] }, output: [mqtt], ...more };
    return service.expect<AlertRecord>(201, "POST", path, { json });
  };
  // Before the process starts: they apply from the first frame on.
  const line = [
    [0.8, 0],
    [0.8, 1],
  ];
  const flow = await post("/alert", "flow-control", { region: { line }, trigger: { count: 1 } });
  const dense = { count: 1, for_seconds: 0, cooldown_seconds: 0 };
  const grid = await post("/alert", "grid-density", { trigger: dense, parameters: { rows: 4, columns: 4 } });

  const source = await uploadVideo(service, await reduceClip(clip ?? "", 80, 10));
  const started = await service.expect<StartedProcess>(201, "POST", `/start?source_uuid=${source.uuid}`, {
    json: { params: { every: 2 } },
  });
  const uuid = started.process_uuid;
  const detections = await Detections.open(started.detection_data_url);
  const event = readEvent(service, uuid, "alert");
  const follow = await post(`/alert/${uuid}`, "follow-track", {
    parameters: { select: "largest", interval_seconds: 0.5, lost_after_seconds: 2 },
  });
  const search = await post(`/alert/${uuid}`, "filter-search", {
    ...{ trigger: { for_seconds: 0.3, once_per_track: true }, output: [mqtt, webhook] },
  });
  const all = [flow, grid, follow, search];
  const info = () => service.expect<ProcessRecord>(200, "GET", `/process/${uuid}`);
  assert.deepEqual((await info()).alerts.sort(), all.map((alert) => alert.uuid).sort());

  const rejected = await service.expect<Problem>(422, "PATCH", `/process/${uuid}/graph`, {
    json: { alerts: { rules: [] } },
  });
  assert.deepEqual(rejected.errors?.[0]?.path, "/alerts/rules");
  assert.match(rejected.errors?.[0]?.message ?? "", /POST \/alert/);

  const output = await service.expect<OutputRecord>(201, "POST", "/output", {
    json: { alias: "out", type: "rtsp", url: "rtsp://yard", settings: "360p" },
  });
  await service.expect(200, "POST", `/process/${uuid}/${output.uuid}`);
  await watch.until("a notice of each alert", () => all.every((alert) => notices.of(alert).length > 0), 120_000);
  for (const alert of all) {
    const [first] = notices.of(alert);
    assert.deepEqual([first?.event, first?.type, first?.alias], ["triggered", alert.type, alert.type]);
    assert.deepEqual([first?.process_uuid, first?.source_uuid], [uuid, source.uuid]);
    assert.ok((first?.tracks.length ?? 0) > 0 && first?.tracks.every(({ class_name }) => class_name === "person"));
  }
  await watch.until("a notice at the webhook", () => hooked.all.length > 0);
  assert.deepEqual(hooked.all[0], notices.of(search)[0], "the same notice with the same id");
  assert.deepEqual(checkEvent(await event), []);

  // With a connected client and a player, which can only start once the output is live.
  const isLive = async () => {
    const { status } = await service.expect<OutputRecord>(200, "GET", `/output/${output.uuid}`);
    return status === "live";
  };
  await eventually(isLive, "the output is live");
  const player = new Player(`${output.play_url}?api_key=${service.key}`);
  await player.shows(5);
  await detections.next(2);
  const before = await info();
  const idsBefore = new Set(detections.messages.at(-1)?.active_tracks.map(({ track_id }) => track_id));
  const messagesBefore = detections.messages.length;
  const rowsOf = ({ data }: AlertNotice) => data.rows;
  assert.ok(notices.of(grid).every((notice) => rowsOf(notice) === 4));
  const askedMs = performance.now();
  const json = { parameters: { rows: 1, columns: 1 } };
  const forced = await service.expect<AlertRecord>(200, "PATCH", `/alert/${grid.uuid}?force=true`, { json });
  const answeredMs = performance.now();
  assert.deepEqual([forced.parameters, forced.pending], [{ rows: 1, columns: 1 }, null]);
  await watch.until("a notice by the new grid", () => notices.of(grid).some((notice) => rowsOf(notice) === 1));
  const receivedMs = performance.now();
  context.diagnostic(
    `applied after ${Math.round(answeredMs - askedMs)} ms, first notice after ${Math.round(receivedMs - askedMs)} ms`,
  );
  const [firstAfter] = await detections.next(3);
  await player.shows(5);
  const rows = notices.of(grid).map(rowsOf);
  assert.deepEqual(
    rows,
    [...rows].sort((a, b) => Number(b) - Number(a)),
    "no notice of the old grid after the first of the new one",
  );
  const times = detections.messages.map(({ timestamp }) => timestamp);
  assert.deepEqual(times, [...new Set(times)].sort(), "in order, without duplicates");
  assert.ok(detections.messages.slice(messagesBefore).every(({ dropped }) => dropped === undefined));
  const idsAfter = firstAfter?.active_tracks.map(({ track_id }) => track_id) ?? [];
  assert.ok(
    idsAfter.some((id) => idsBefore.has(id)),
    `one of the ids ${[...idsBefore]} continues in ${idsAfter}`,
  );
  const now = await info();
  assert.deepEqual([now.state, now.stats.restarts, now.started_at], ["running", 0, before.started_at]);
  assert.equal(now.output_states[0]?.status, "live");

  await service.expect(200, "PATCH", `/alert/${follow.uuid}`, { json: { status: "inactive" } });
  const stopped = new Date().toISOString();
  await detections.next(3);
  await service.expect(200, "DELETE", `/process/${uuid}`);
  const late = notices.of(follow).filter(({ timestamp }) => timestamp > stopped);
  assert.deepEqual(late, [], "no further notices, and no `cleared`");
  assert.deepEqual(await service.expect(200, "GET", "/active/alerts"), { alerts: [] });
  await service.expect(404, "GET", `/alert/${search.uuid}`);
  assert.equal((await service.expect<{ alerts: unknown[] }>(200, "GET", "/alerts")).alerts.length, 2);
});
