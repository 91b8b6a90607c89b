/**
 * Outputs of a real process to other systems: CoT events, from a clip and the position of its camera, through the service
 * to a socket; and its detection messages to a broker.
 */
import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { after, test } from "node:test";
import { find, parseEvents } from "../../elements/cot/parse-event.fixture.ts";
import type { OutputRecord } from "../../schemas/api/outputs.ts";
import type { StartedProcess } from "../../schemas/api/processes.ts";
import type { DetectionMessage } from "../../schemas/detection-message.ts";
import { withoutModel } from "../golden/golden.fixture.ts";
import { CAMERA, encodeStreet } from "../golden/street.fixture.ts";
import { temporaryFolder } from "../graph.fixture.ts";
import { openMosquitto } from "../mosquitto.fixture.ts";
import { Watch } from "../watch.fixture.ts";
import { Detections } from "./process-client.fixture.ts";
import { uploadVideo } from "./service.fixture.ts";
import { shareService } from "./shared-service.fixture.ts";

const FRAMES = 75;
/** Long enough for slow machines. */
const ROUNDS = 40;
const noModel = await withoutModel("default");
const folder = temporaryFolder();
const service = await shareService("cot", "--track-logger");

test("attached outputs send events and messages with the positions and times of detection_data", {
  skip: noModel,
}, async () => {
  const socket = createSocket("udp4");
  after(() => socket.close());
  const watch = new Watch();
  const texts: string[] = [];
  socket.on("message", (bytes) => {
    texts.push(String(bytes));
    watch.check();
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  const json = { alias: "map", type: "cot", url: `udp://127.0.0.1:${socket.address().port}` };
  const output = await service.expect<OutputRecord>(201, "POST", "/output", { json });
  const source = await uploadVideo(service, await encodeStreet(folder, FRAMES, ROUNDS), { alias: "street" });
  const telemetry_cfg = { type: "static", format: "native", parameters: CAMERA };
  await service.expect(200, "PATCH", `/source/${source.uuid}`, { json: { telemetry_cfg } });
  const path = `/start?source_uuid=${source.uuid}`;
  const started = await service.expect<StartedProcess>(201, "POST", path, { json: { params: { every: 5 } } });
  const uuid = started.process_uuid;
  const detections = await Detections.open(started.detection_data_url);
  const attached = await service.expect<OutputRecord>(200, "POST", `/process/${uuid}/${output.uuid}`);
  assert.ok(["starting", "live"].includes(attached.status), attached.status);
  await watch.until("two events", () => texts.length >= 2);
  const shown = await service.expect<OutputRecord>(200, "GET", `/output/${output.uuid}`);
  assert.deepEqual([shown.status, shown.status_detail, shown.attached_to], ["live", null, uuid]);

  const [event] = parseEvents(texts);
  const { uid = "", time } = event?.attributes ?? {};
  const id = Number(uid.split(".").at(-1));
  assert.equal(uid, `windhover.${uuid}.${id}`);
  const seen = () => detections.messages.find(({ timestamp }) => timestamp === time);
  await detections.until("the message of the same frame", () => seen() !== undefined);
  const track = seen()?.active_tracks.find(({ track_id }) => track_id === id);
  const { lat, lon, ce } = find(event, "point")?.attributes ?? {};
  assert.deepEqual([Number(lat), Number(lon)], [track?.latitude, track?.longitude]);
  assert.ok(Math.abs(Number(ce) - (track?.position_error_m ?? Number.NaN)) <= 0.06, `${ce} ${track?.position_error_m}`);
  assert.equal(find(event, "contact")?.attributes.callsign, `${track?.class_name} ${id}`);

  const broker = await openMosquitto();
  const client = await broker.connect();
  const published: { readonly topic: string; readonly message: DetectionMessage }[] = [];
  client.on("message", (topic, payload) => {
    published.push({ topic, message: JSON.parse(String(payload)) });
    watch.check();
  });
  await client.subscribeAsync("wh/#", { qos: 1 });
  const url = `mqtt://ada:hunter5@127.0.0.1:${broker.port}/wh/{source_uuid}/{process_uuid}?qos=1`;
  const data = await service.expect<OutputRecord>(201, "POST", "/output", {
    json: { alias: "data", type: "mqtt", url },
  });
  assert.equal(data.url, url.replace("ada:hunter5", "***"));
  await service.expect(200, "POST", `/process/${uuid}/${data.uuid}`);
  await watch.until("a message with a track", () => published.some(({ message }) => message.active_tracks.length > 0));
  const { topic, message } = published.find((one) => one.message.active_tracks.length > 0) ?? assert.fail();
  assert.equal(topic, `wh/${source.uuid}/${uuid}`);
  const same = () => detections.messages.find(({ timestamp }) => timestamp === message.timestamp);
  await detections.until("the message of the same frame", () => same() !== undefined);
  assert.deepEqual(message, same());
  const sent = await service.expect<OutputRecord>(200, "GET", `/output/${data.uuid}`);
  assert.deepEqual([sent.status, sent.attached_to], ["live", uuid]);
  await service.expect(200, "DELETE", `/process/${uuid}/${data.uuid}`);

  await service.expect(200, "DELETE", `/process/${uuid}/${output.uuid}`);
  const isStale = () => parseEvents(texts).some(({ attributes }) => attributes.time === attributes.stale);
  await watch.until("stale events after detaching", isStale);
});
