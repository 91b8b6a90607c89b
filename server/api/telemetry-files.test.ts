/** Telemetry files of videos, by the real endpoints over a real database. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { addKlv } from "../../media/mpegts/add-klv.fixture.ts";
import { H264, makeFilm, withFolder } from "../../native/film.fixture.ts";
import { pictures, play } from "../../native/pipeline.fixture.ts";
import { writeGimbal, writePosition, writeRecord } from "../../telemetry/mavlink.fixture.ts";
import { writePacket } from "../../telemetry/misb-0601.ts";
import { MARK } from "../sources/small-film.fixture.mjs";
import { type Client, openSourcesService, type SourcesService } from "../sources/sources.fixture.ts";

let service: SourcesService;
let ada: Client;
let bob: Client;
let mp4: Buffer;
let ts: Buffer;

before(async () => {
  service = await openSourcesService({ TELEMETRY_UDP_PORT_FIRST: "14550", TELEMETRY_UDP_PORT_LAST: "14555" });
  [ada, bob] = [await service.addUser(), await service.addUser()];
  [mp4, ts] = await withFolder(async (folder) => {
    await makeFilm(join(folder, "clip.mp4"), 20, false);
    const file = join(folder, "clip.ts");
    await play({ ...pictures(20), ...H264, muxer: ["mpegtsmux"], file: ["filesink", { location: file }] });
    return Promise.all([readFile(join(folder, "clip.mp4")), readFile(file)]);
  });
});
after(() => service?.close());

/** The clip followed by bytes that players skip: different every time. Its probe need not decode it. */
let count = 0;
function newClip(): Buffer {
  const box = Buffer.alloc(12 + MARK.length);
  box.writeUInt32BE(box.length, 0);
  box.write("free", 4);
  count += 1;
  box.writeUInt32BE(count, 8);
  box.write(MARK, 12);
  return Buffer.concat([mp4, box]);
}

const SRT = Array.from({ length: 20 }, (_, index) => {
  const at = (ms: number) => `00:00:00,${String(Math.round(ms)).padStart(3, "0")}`;
  return `${index + 1}\n${at(index * 33)} --> ${at(index * 33 + 33)}\n[focal_len: 24.00] [latitude: ${41.4 + index / 1e5}] [longitude: 2.17] [rel_alt: 50.0 abs_alt: 300.0] [gb_yaw: 10.0 gb_pitch: -60.0 gb_roll: 0.0]\n\n`;
}).join("");

type Parts = Readonly<Record<string, string | readonly [bytes: Buffer | string, name: string]>>;

function form(parts: Parts): FormData {
  const data = new FormData();
  for (const [name, part] of Object.entries(parts))
    if (typeof part === "string") data.append(name, part);
    else data.append(name, new Blob([part[0]]), part[1]);
  return data;
}

async function upload(parts: Parts = {}): Promise<string> {
  const { status, body } = await ada.post("/video", form({ ...parts, file: [newClip(), "clip.mp4"] }));
  assert.equal(status, 201, JSON.stringify(body));
  return body.uuid;
}

test("telemetry is stored with its video, shown, used by processes and deleted", async () => {
  const uuid = await upload({ telemetry: [SRT, "DJI_0001.SRT"] });
  const { status, body } = await ada.call("GET", `/source/${uuid}/telemetry`);
  assert.equal(status, 200);
  const { created_at: _, ...shown } = body;
  assert.deepEqual(shown, {
    ...{ source_uuid: uuid, format: "dji_srt", file_name: "DJI_0001.SRT", samples: 20, detail: null },
    ...{ from_seconds: 0, to_seconds: 0.627, offset_method: "video_time", offset_error_seconds: 0.017 },
  });
  const input = await service.sources.resolveInput(ada.user.uuid, uuid);
  assert.deepEqual(input.telemetry, { type: "file", format: "dji_srt", parameters: {} });
  // Settings of the source come first.
  const telemetry_cfg = { type: "static", parameters: { sensor_hfov: 60, sensor_vfov: 34 } };
  assert.equal((await ada.call("PATCH", `/source/${uuid}`, { telemetry_cfg })).status, 200);
  assert.equal((await service.sources.resolveInput(ada.user.uuid, uuid)).telemetry?.type, "static");
  assert.equal((await ada.call("DELETE", `/source/${uuid}/telemetry`)).status, 200);
  for (const method of ["GET", "DELETE"])
    assert.deepEqual((await ada.call(method, `/source/${uuid}/telemetry`)).body.code, "telemetry_not_found");
});

test("telemetry is uploaded later, and replaces what there was", async () => {
  const uuid = await upload({ telemetry: [SRT, "first.srt"] });
  const startMs = Date.UTC(2026, 4, 1, 10);
  const tlog = Buffer.concat([writeRecord(startMs, writePosition()), writeRecord(startMs + 500, writeGimbal(-45))]);
  const parameters = JSON.stringify({ sensor_hfov: 60, sensor_vfov: 34 });
  const sent = await ada.post(
    `/source/${uuid}/telemetry`,
    form({ file: [tlog, "flight.tlog"], parameters, offset_seconds: "-1.5" }),
  );
  assert.equal(sent.status, 200, JSON.stringify(sent.body));
  const { format, samples, from_seconds, to_seconds, offset_method, offset_error_seconds, detail } = sent.body;
  assert.deepEqual([format, samples, from_seconds, to_seconds], ["mavlink", 2, -1.5, -1]);
  assert.deepEqual([offset_method, offset_error_seconds, detail], ["given", 0.25, null]);
  assert.deepEqual((await ada.call("GET", `/source/${uuid}/telemetry`)).body, sent.body);
});

test("the same video with telemetry stores the telemetry with the source that there is", async () => {
  const clip = newClip();
  const first = await ada.post("/video", form({ file: [clip, "a.mp4"] }));
  const again = await ada.post("/video", form({ file: [clip, "a.mp4"], telemetry: [SRT, "a.srt"] }));
  assert.deepEqual([first.status, again.status, again.body.uuid], [201, 200, first.body.uuid]);
  assert.equal((await ada.call("GET", `/source/${first.body.uuid}/telemetry`)).body.samples, 20);
});

for (const [what, parts, path, expected] of [
  ["a file of no format", { telemetry: ["hello", "a.txt"] }, "telemetry", /none of the formats/],
  [
    "a damaged file",
    { telemetry: ["{\n{", "a.json"], telemetry_format: "native" },
    "telemetry",
    /Line 1: .*not valid JSON/,
  ],
  [
    "a file without telemetry",
    { telemetry: ["1\n00:00:01,000 --> 00:00:02,000\nHello\n", "a.srt"] },
    "telemetry",
    /no telemetry that can be used/,
  ],
  [
    "an unknown format",
    { telemetry: [SRT, "a.srt"], telemetry_format: "gpx" },
    "telemetry_format",
    /"gpx"; expected one of native/,
  ],
  [
    "an offset that is not a number",
    { telemetry: [SRT, "a.srt"], telemetry_offset_seconds: "soon" },
    "telemetry_offset_seconds",
    /expected seconds/,
  ],
  [
    "parameters that are not JSON",
    { telemetry: [SRT, "a.srt"], telemetry_parameters: "{" },
    "telemetry_parameters",
    /not valid JSON/,
  ],
  [
    "a wrong parameter",
    { telemetry: [SRT, "a.srt"], telemetry_parameters: '{"sensor_hfov": 500}' },
    "telemetry_parameters/sensor_hfov",
    /500/,
  ],
  ["telemetry of a looped video", { telemetry: [SRT, "a.srt"], loop: "true" }, "telemetry", /played once/],
] as const satisfies readonly (readonly [string, Parts, string, RegExp])[])
  test(`rejects ${what}, and stores nothing`, async () => {
    const before = await service.sql`select count(*) from sources`;
    const { status, body } = await ada.post("/video", form({ ...parts, file: [newClip(), "clip.mp4"] }));
    assert.equal(status, 422, JSON.stringify(body));
    assert.equal(body.errors[0].path, path);
    assert.match(body.errors[0].message, expected);
    assert.deepEqual(await service.sql`select count(*) from sources`, before);
    assert.equal(
      (await service.listFiles()).length,
      Number((await service.sql`select count(*) from sources where type = 'file'`)[0]?.count),
    );
  });

test("telemetry of a source of another user, and of a stream, is rejected", async () => {
  const uuid = await upload();
  const file = () => form({ file: [SRT, "a.srt"] });
  assert.equal((await bob.post(`/source/${uuid}/telemetry`, file())).body.code, "source_not_found");
  for (const method of ["GET", "DELETE"])
    assert.equal((await bob.call(method, `/source/${uuid}/telemetry`)).body.code, "source_not_found");
  const stream = { alias: "yard", input_url: "rtsp://192.0.2.9/yard", stream_type: "rtsp" };
  const { body } = await ada.call("POST", "/stream", stream);
  const { status, body: problem } = await ada.post(`/source/${body.uuid}/telemetry`, file());
  assert.deepEqual([status, problem.errors[0].path], [422, "file"]);
});

test("a transport stream is accepted, and its KLV is its telemetry", async () => {
  const units = [0, 0.2, 0.4].map((seconds, index) => ({
    seconds,
    data: writePacket({
      ...{ timeStamp: 1_790_000_000_000_000n + BigInt(index) * 200_000n, sensorLatitude: 41.4, sensorLongitude: 2.17 },
      ...{ sensorAltitude: 180, frameElevation: 120, sensorHfov: 60, sensorVfov: 34 },
      ...{ platformHeading: 0, sensorAzimuth: 10, sensorElevation: -45 },
    }),
  }));
  for (const kind of ["synchronous", "asynchronous", "untimed"] as const) {
    const { status, body } = await ada.post("/video", form({ file: [addKlv(ts, units, kind), "flight.ts"] }));
    assert.equal(status, 201, JSON.stringify(body));
    const { body: found } = await ada.call("GET", `/source/${body.uuid}/telemetry`);
    assert.deepEqual([found.format, found.file_name, found.samples, found.detail], ["misb_0601", null, 3, null]);
    assert.equal(found.offset_method, "video_time");
    if (kind !== "untimed") assert.deepEqual([found.from_seconds, found.to_seconds], [0, 0.4]);
  }
  const plain = await ada.post("/video", form({ file: [ts, "plain.ts"] }));
  assert.equal(plain.status, 201);
  assert.equal((await ada.call("GET", `/source/${plain.body.uuid}/telemetry`)).status, 404);
});

test("a UDP port is offered by the operator, and belongs to one key", async () => {
  const register = (client: Client, name: string, port: number, sender = "192.0.2.7") =>
    client.call("POST", "/stream", {
      ...{ alias: name, input_url: `rtsp://192.0.2.9/${name}`, stream_type: "rtsp" },
      telemetry_cfg: { type: "udp", parameters: { port, sender, password: "secret" } },
    });
  const own = await register(ada, "one", 14_550);
  assert.equal(own.status, 201, JSON.stringify(own.body));
  assert.deepEqual(own.body.telemetry_cfg, {
    ...{ type: "udp", format: "mavlink" },
    parameters: { port: 14_550, sender: "192.0.2.7", password: "***" },
  });
  assert.equal((await register(ada, "two", 14_550, "192.0.2.8")).status, 201);
  const foreign = await register(bob, "one", 14_550);
  assert.deepEqual([foreign.status, foreign.body.errors[0].path], [422, "/telemetry_cfg/parameters/port"]);
  assert.match(foreign.body.errors[0].message, /another key uses/);
  assert.match((await register(bob, "one", 80)).body.errors[0].message, /expected 14550 to 14555/);
  assert.equal((await register(bob, "one", 14_551)).status, 201);
  const patched = await bob.call("PATCH", `/source/${(await register(bob, "one", 14_551)).body.uuid}`, {
    telemetry_cfg: { type: "udp", parameters: { port: 14_550, sender: "192.0.2.7" } },
  });
  assert.equal(patched.status, 422);
  for (const [index, port] of [14_552, 14_553, 14_554].entries())
    assert.equal((await register(ada, `more-${index}`, port)).status, 201);
  assert.match((await register(ada, "last", 14_555)).body.errors[0].message, /expected up to 4/);
});
