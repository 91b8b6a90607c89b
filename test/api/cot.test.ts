/** Objects of a real process on a map: from a clip and where its camera stood, through the service, to a socket. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { join } from "node:path";
import { after, test } from "node:test";
import { find, parseEvents } from "../../elements/cot/parse-event.fixture.ts";
import type { OutputRecord } from "../../schemas/api/outputs.ts";
import type { StartedProcess } from "../../schemas/api/processes.ts";
import { withoutModel } from "../golden/golden.fixture.ts";
import { paintStreet } from "../golden/street.fixture.ts";
import { compiledLaunch, start, temporaryFolder } from "../graph.fixture.ts";
import { Watch } from "../watch.fixture.ts";
import { Detections } from "./process-client.fixture.ts";
import { TestService, uploadVideo } from "./service.fixture.ts";

/** Ten metres above a street in Munich, looking north and a little down. */
const CAMERA = {
  ...{ latitude: 48.1372, longitude: 11.5755, altitude: 529, rel_altitude: 10, speed: 0 },
  ...{ sensor_hfov: 60, sensor_vfov: 36, camera_pitch: -30, camera_yaw: 0, camera_roll: 0 },
};
const FRAMES = 75;
/** Longer than is needed but by slow machines. */
const ROUNDS = 40;
const noModel = await withoutModel("default");
const folder = temporaryFolder();

/** Two cars, a stop sign and a clock, again and again. */
async function makeStreet(): Promise<string> {
  const [raw, clip] = [join(folder, "street.y4m"), join(folder, "street.mp4")];
  paintStreet(raw, FRAMES);
  const line = `source uri="${raw}" ! decode ! encode bitrate-kbps=8000 ! record path="${clip}"`;
  const graph = await start(compiledLaunch(line), []);
  assert.deepEqual(await graph.ended, { state: "finished", error: null });
  const long = join(folder, "long.mp4");
  execFileSync("ffmpeg", ["-v", "error", "-stream_loop", String(ROUNDS), "-i", clip, "-c", "copy", long]);
  return long;
}

test("an attached cot output gets events where detection_data says the objects are, at the time of their pictures", {
  skip: noModel,
}, async () => {
  const service = await TestService.start();
  after(() => service.close());
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
  const source = await uploadVideo(service, await makeStreet(), { alias: "street" });
  const telemetry_cfg = { type: "static", format: "native", parameters: CAMERA };
  await service.expect(200, "PATCH", `/source/${source.uuid}`, { json: { telemetry_cfg } });
  const started = await service.expect<StartedProcess>(201, "POST", `/start?source_uuid=${source.uuid}`);
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
  await detections.until("the message of the same picture", () => seen() !== undefined);
  const told = seen()?.active_tracks.find(({ track_id }) => track_id === id);
  const { lat, lon, ce } = find(event, "point")?.attributes ?? {};
  assert.deepEqual([Number(lat), Number(lon)], [told?.latitude, told?.longitude]);
  assert.ok(Math.abs(Number(ce) - (told?.position_error_m ?? Number.NaN)) <= 0.06, `${ce} ${told?.position_error_m}`);
  assert.equal(find(event, "contact")?.attributes.callsign, `${told?.class_name} ${id}`);

  await service.expect(200, "DELETE", `/process/${uuid}/${output.uuid}`);
  const isStale = () => parseEvents(texts).some(({ attributes }) => attributes.time === attributes.stale);
  await watch.until("what is detached is stale at once", isStale);
});
