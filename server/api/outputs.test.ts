import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { temporaryFolder } from "../../test/graph.fixture.ts";
import { type Client, insertProcess, openSourcesService, type SourcesService } from "../sources/sources.fixture.ts";
import { newUuid } from "../uuid.ts";

let service: SourcesService;
let ada: Client;
before(async () => {
  service = await openSourcesService();
  ada = await service.addUser();
});
after(() => service?.close());

const output = (type: string, url?: string | null, more: object = {}) => ({ alias: "out", type, url, ...more });

test("registers an rtsp output with its playback URL", async () => {
  const { status, body } = await ada.call(
    "POST",
    "/output",
    output("rtsp", "rtsp://north/cam-1", { settings: "720p" }),
  );
  assert.equal(status, 201);
  const { uuid, output_uuid, created_at, hls_url, webrtc_url, ...rest } = body;
  assert.match(hls_url, new RegExp(`^http://127\\.0\\.0\\.1:\\d+/output/${uuid}/hls/index\\.m3u8\\?token=`));
  assert.match(webrtc_url, new RegExp(`/output/${uuid}/whep\\?token=`));
  assert.equal(output_uuid, uuid);
  assert.match(created_at, /Z$/);
  assert.deepEqual(rest, {
    alias: "out",
    type: "rtsp",
    url: "rtsp://north/cam-1",
    settings: "720p",
    codec: "h264",
    boxes: true,
    bitrate: null,
    audio: false,
    play_url: `rtsp://127.0.0.1:8554/${ada.user.username}/north/cam-1`,
    attached_to: null,
    status: "idle",
    status_detail: null,
    frames_sent: 0,
    frames_dropped: 0,
  });
  const signed = { hls_url, webrtc_url };
  const shown = await ada.call("GET", `/output/${uuid}`);
  assert.deepEqual({ ...shown.body, ...signed }, body);
  const listed = (await ada.call("GET", "/outputs")).body.outputs;
  assert.deepEqual([{ ...listed[0], ...signed }], [body]);
  assert.deepEqual(await ada.call("DELETE", `/output/${uuid}`), { status: 200, body: { deleted: true, uuid } });
  for (const method of ["GET", "DELETE"]) {
    const gone = await ada.call(method, `/output/${uuid}`);
    assert.deepEqual([gone.status, gone.body.code], [404, "output_not_found"]);
  }
});

test("has outputs without boxes, with a bit rate and with sound, where there is video", async () => {
  const ben = await service.addUser();
  const plain = await ben.call("POST", "/output", output("rtsp", "rtsp://plain"));
  const more = { boxes: false, bitrate: 800, audio: true };
  const made = await ben.call("POST", "/output", output("rtsp", "rtsp://plain", more));
  assert.deepEqual([made.status, made.body.boxes, made.body.bitrate, made.body.audio], [201, false, 800, true]);
  assert.notEqual(made.body.uuid, plain.body.uuid);
  const again = await ben.call(
    "POST",
    "/output",
    output("rtsp", "rtsp://plain", { audio: true, bitrate: 800, boxes: false }),
  );
  assert.deepEqual([again.status, again.body.uuid], [200, made.body.uuid]);
  const path = `/output/${made.body.uuid}`;
  const slower = await ben.call("PATCH", path, { bitrate: 400 });
  assert.deepEqual([slower.body.boxes, slower.body.bitrate, slower.body.audio], [false, 400, true]);
  const same = await ben.call("PATCH", path, { boxes: true, bitrate: null, audio: false });
  assert.deepEqual([same.status, same.body.code], [409, "output_exists"]);
  const mpegts = await ben.call("POST", "/output", output("mpegts", "udp://127.0.0.1:5004"));
  assert.equal(mpegts.body.boxes, false, "its objects are metadata");
  const cot = await ben.call("POST", "/output", output("cot", "udp://127.0.0.1:6969"));
  assert.deepEqual([cot.body.boxes, cot.body.bitrate, cot.body.audio], [null, null, null]);
  assert.equal((await ben.call("PATCH", `/output/${cot.body.uuid}`, { ...cot.body, alias: "map" })).status, 200);
  for (const [body, fault] of [
    [output("cot", "udp://127.0.0.1:6970", { audio: true }), "/audio"],
    [output("detection_data", undefined, { audio: true }), "/audio"],
    [output("rtsp", "rtsp://fast", { bitrate: 49 }), "/bitrate"],
    [output("rtsp", "rtsp://fast", { bitrate: 100_001 }), "/bitrate"],
    [output("rtsp", "rtsp://fast", { boxes: "no" }), "/boxes"],
  ] as const) {
    const wrong = await ben.call("POST", "/output", body);
    assert.deepEqual([wrong.status, wrong.body.errors?.[0]?.path], [422, fault], JSON.stringify(wrong.body));
  }
});

test("returns the existing output for the same type, url and settings", async () => {
  const first = await ada.call("POST", "/output", output("rtsp", "rtsp://a"));
  const again = await ada.call("POST", "/output", output("rtsp", "rtsp://a", { alias: "other", settings: null }));
  assert.deepEqual([again.status, again.body.uuid], [200, first.body.uuid]);
  const smaller = await ada.call("POST", "/output", output("rtsp", "rtsp://a", { settings: "360p" }));
  assert.equal(smaller.status, 201);
  const h265 = await ada.call("POST", "/output", output("rtsp", "rtsp://a", { codec: "h265" }));
  assert.deepEqual([h265.status, h265.body.codec], [201, "h265"]);
  const same = await ada.call("POST", "/output", output("rtsp", "rtsp://a", { codec: "h264" }));
  assert.deepEqual([same.status, same.body.uuid, same.body.codec], [200, first.body.uuid, "h264"]);
  const unknown = await ada.call("POST", "/output", output("rtsp", "rtsp://a", { codec: "av1" }));
  assert.deepEqual([unknown.status, unknown.body.errors?.[0]?.path], [422, "/codec"]);
  const raced = await Promise.all(
    Array.from({ length: 6 }, () => ada.call("POST", "/output", output("rtsp", "rtsp://b"))),
  );
  assert.equal(raced.filter(({ status }) => status === 201).length, 1);
});

test("ignores url, settings and codec of data outputs", async () => {
  const made = await ada.call("POST", "/output", output("detection_data", undefined, { settings: "720p" }));
  assert.deepEqual([made.status, made.body.url, made.body.settings, made.body.play_url], [201, null, null, null]);
  const settings = [null, "4k", { width: 3 }, 7];
  for (const [at, url] of [null, "rtsp://a", "wss://here/x", 5].entries()) {
    const body = { alias: "out", type: "detection_data", url, settings: settings[at], codec: settings[at] };
    const again = await ada.call("POST", "/output", body);
    assert.deepEqual([again.status, again.body.uuid], [200, made.body.uuid], String(url));
    assert.deepEqual([again.body.url, again.body.settings, again.body.codec], [null, null, null]);
  }
  assert.equal((await ada.call("POST", "/output", output("drone_data", ""))).status, 201);
});

test("does not show the password of an rtmp output", async () => {
  const { body } = await ada.call("POST", "/output", output("rtmp", "rtmp://u:hunter4@192.0.2.1:1935/live/x"));
  assert.equal(body.url, "rtmp://***@192.0.2.1:1935/live/x");
  assert.equal((await ada.call("POST", "/output", output("rtmp", body.url))).status, 422);
  assert.doesNotMatch(service.app.logged.join(), /hunter4/);
});

test("a cot output has its own URL scheme, no settings, and its password is not shown", async () => {
  const url = "mqtt://maps:hunter5@192.0.2.1:1883/site/cot?qos=1";
  const { status, body } = await ada.call("POST", "/output", output("cot", url, { settings: "720p" }));
  assert.deepEqual([status, body.type, body.settings, body.play_url], [201, "cot", null, null]);
  assert.equal(body.url, "mqtt://***@192.0.2.1:1883/site/cot?qos=1");
  assert.equal((await ada.call("POST", "/output", output("cot", body.url))).status, 422);
  assert.equal((await ada.call("POST", "/output", output("cot", url))).body.uuid, body.uuid);
  assert.equal((await ada.call("POST", "/output", output("cot", "udp://239.2.3.1:6969"))).status, 201);
  assert.doesNotMatch(service.app.logged.join(), /hunter5/);
});

test("a cot output to a TAK server has certificates, whose key is stored sealed and never shown", async () => {
  const folder = temporaryFolder();
  const make = (name: string): readonly [certificate: string, key: string] => {
    const [cert, key] = [join(folder, `${name}.pem`), join(folder, `${name}.key`)];
    const how = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"];
    execFileSync("openssl", [...how, "-subj", `/CN=${name}`, "-keyout", key, "-out", cert], { stdio: "ignore" });
    return [readFileSync(cert, "utf8"), readFileSync(key, "utf8")];
  };
  const [[certificate, key], [authorities, otherKey]] = [make("drone"), make("ca")];
  const url = "tls://192.0.2.1:8089";
  const video_url = "rtsp://viewer:hunter6@192.0.2.2/live";
  const tak = { callsign: "FOX 1", server_name: "takserver", video_url, authorities, certificate, key };
  const { status, body } = await ada.call("POST", "/output", output("cot", url, { tak }));
  assert.equal(status, 201, JSON.stringify(body));
  assert.deepEqual(body.tak, { ...tak, camera: true, key: "***", video_url: "rtsp://***@192.0.2.2/live" });
  assert.equal((await ada.call("POST", "/output", output("cot", url, { tak }))).body.uuid, body.uuid);
  assert.notEqual((await ada.call("POST", "/output", output("cot", url, { tak: {} }))).body.uuid, body.uuid);
  const [row] = await service.sql<{ tak: string }[]>`select tak::text from outputs where uuid = ${body.uuid}`;
  assert.doesNotMatch(row?.tak ?? "", /BEGIN|hunter6/);
  const faultOf = async (change: object) => {
    const answer = await ada.call("POST", "/output", output("cot", url, { tak: { ...tak, ...change } }));
    return `${answer.status} ${answer.body.detail}`;
  };
  assert.match(await faultOf({ key: otherKey }), /^422 \/tak\/key is not the private key of the certificate/);
  assert.match(await faultOf({ key: "***" }), /^422 \/tak\/key is not a private key/);
  assert.match(await faultOf({ certificate: "x" }), /^422 \/tak\/certificate is not a certificate/);
  assert.match(await faultOf({ key: undefined }), /^422 \/tak\/key is missing/);
  assert.match(await faultOf({ password: "x" }), /^422/);
  assert.doesNotMatch(service.app.logged.join(), /PRIVATE KEY|hunter6/);
});

test("concurrent requests do not exceed the output limit; an existing output is returned at the limit", async () => {
  const eve = await service.addUser({ outputsRegistered: 2 });
  const replies = await Promise.all(
    Array.from({ length: 6 }, (_, i) => eve.call("POST", "/output", output("rtsp", `rtsp://p${i}`))),
  );
  const made = replies.filter(({ status }) => status === 201);
  assert.equal(made.length, 2);
  for (const { body } of replies.filter(({ status }) => status !== 201))
    assert.equal(body.code, "outputs_limit_reached");
  assert.equal((await eve.call("POST", "/output", output("rtsp", made[0]?.body.url))).status, 200);
});

test("an attached output is reported as attached and cannot be deleted; it is detached when its process ends", async () => {
  const { body } = await ada.call("POST", "/output", output("rtsp", "rtsp://attached"));
  const process = await insertProcess(service.sql, ada.user.uuid, newUuid(), "running");
  await service.sql`insert into process_outputs (output_uuid, process_uuid) values (${body.uuid}, ${process})`;
  const shown = (await ada.call("GET", `/output/${body.uuid}`)).body;
  assert.deepEqual([shown.attached_to, shown.status], [process, "live"]);
  const rejected = await ada.call("DELETE", `/output/${body.uuid}`);
  assert.deepEqual([rejected.status, rejected.body.code], [409, "output_in_use"]);
  await service.sql`update processes set state = 'failed' where uuid = ${process}`;
  assert.equal((await ada.call("GET", `/output/${body.uuid}`)).body.attached_to, null);
  assert.equal((await ada.call("DELETE", `/output/${body.uuid}`)).status, 200);
});

test("the path of an rtsp output leaves room for its owner's name", async () => {
  const most = 255 - ada.user.username.length - 1;
  const reply = await ada.call("POST", "/output", output("rtsp", `rtsp://${"x".repeat(most + 1)}`));
  assert.deepEqual([reply.status, reply.body.errors?.[0]?.path], [422, "/url"]);
  const fits = await ada.call("POST", "/output", output("rtsp", `rtsp://${"x".repeat(Math.min(most, 248))}`));
  assert.equal(fits.status, 201);
});

test("an output of another user is not found", async () => {
  const { body } = await ada.call("POST", "/output", output("rtsp", "rtsp://mine"));
  const eve = await service.addUser();
  for (const method of ["GET", "DELETE"]) {
    const reply = await eve.call(method, `/output/${body.uuid}`);
    assert.deepEqual([reply.status, reply.body.code], [404, "output_not_found"]);
  }
  assert.deepEqual((await eve.call("GET", "/outputs")).body, { outputs: [] });
});

test("the listing is paged, newest first", async () => {
  const eve = await service.addUser();
  for (let i = 0; i < 3; i += 1) await eve.call("POST", "/output", output("rtsp", `rtsp://p${i}`));
  const first = await eve.call("GET", "/outputs?limit=2");
  const second = await eve.call("GET", `/outputs?limit=2&cursor=${first.body.next_cursor}`);
  const urls = [...first.body.outputs, ...second.body.outputs].map(({ url }) => url);
  assert.deepEqual(urls, ["rtsp://p2", "rtsp://p1", "rtsp://p0"]);
  assert.equal(second.body.next_cursor, undefined);
  assert.equal((await eve.call("GET", "/outputs?cursor=nonsense")).status, 422);
});

const REJECTED: readonly (readonly [why: string, body: unknown, path: string])[] = [
  ["no alias", { type: "rtsp", url: "rtsp://a" }, "/alias"],
  ["an unknown type", output("udp", "udp://1.2.3.4"), "/type"],
  ["rtsp without url", output("rtsp"), "/url"],
  ["rtsp with null", output("rtsp", null), "/url"],
  ["rtmp without url", output("rtmp"), "/url"],
  ["a url of another type", output("rtsp", "rtmp://192.0.2.1:1935/live/x"), "/url"],
  ["a url of yet another type", output("rtmp", "rtsp://a"), "/url"],
  ["rtsp with host and port", output("rtsp", "rtsp://192.0.2.1:8554/x"), "/url"],
  ["rtsp with an address", output("rtsp", "rtsp://192.0.2.1/x"), "/url"],
  ["rtsp with localhost", output("rtsp", "rtsp://localhost/x"), "/url"],
  ["rtsp without a path", output("rtsp", "rtsp://"), "/url"],
  ["rtsp with ..", output("rtsp", "rtsp://../other/x"), "/url"],
  ["rtsp with .. later in the path", output("rtsp", "rtsp://a/../../x"), "/url"],
  ["rtsp with escapes", output("rtsp", "rtsp://a/%2e%2e/x"), "/url"],
  ["rtsp with an empty segment", output("rtsp", "rtsp://a//x"), "/url"],
  ["rtsp with a query", output("rtsp", "rtsp://a?x=1"), "/url"],
  ["rtsp with credentials", output("rtsp", "rtsp://u:p@a/x"), "/url"],
  ["rtsp with a backslash", output("rtsp", "rtsp://a\\x"), "/url"],
  ["rtmp without a path", output("rtmp", "rtmp://192.0.2.1:1935"), "/url"],
  ["rtmp with two @", output("rtmp", "rtmp://a@b@192.0.2.1/live/x"), "/url"],
  ["a url that is not a string", { alias: "x", type: "rtmp", url: 5 }, "/url"],
  ["rtmp with an empty segment", output("rtmp", "rtmp://192.0.2.1/live//x"), "/url"],
  ["mqtt without url", output("mqtt"), "/url"],
  ["mqtt with an unknown placeholder", output("mqtt", "mqtt://192.0.2.1/{trak_id}"), "/url"],
  ["mqtt with a wrong option", output("mqtt", "mqtt://192.0.2.1/a?qos=3"), "/url"],
  ["cot without url", output("cot"), "/url"],
  ["cot with a url of another type", output("cot", "rtmp://192.0.2.1/live/x"), "/url"],
  ["cot without a port", output("cot", "udp://192.0.2.1"), "/url"],
  ["cot with a wildcard topic", output("cot", "mqtt://192.0.2.1/a/+"), "/url"],
  ["cot with an excessive ttl", output("cot", "udp://239.2.3.1:6969?ttl=900"), "/url"],
  ["unknown settings", output("rtsp", "rtsp://a", { settings: "4k" }), "/settings"],
  ["unknown settings of rtmp", output("rtmp", "rtmp://192.0.2.1/live/x", { settings: 7 }), "/settings"],
];
for (const [why, body, path] of REJECTED) {
  test(`POST /output rejects ${why}`, async () => {
    const reply = await ada.call("POST", "/output", body);
    assert.deepEqual([reply.status, reply.body.code], [422, "invalid_input"]);
    const paths = reply.body.errors.map((fault: { path: string }) => fault.path);
    assert.ok(paths.includes(path), `${path} is among ${paths}`);
  });
}

test("accepts an rtmp URL with a trailing slash", async () => {
  const { status, body } = await ada.call("POST", "/output", output("rtmp", "rtmp://192.0.2.1:1935/live/"));
  assert.deepEqual([status, body.url], [201, "rtmp://192.0.2.1:1935/live/"]);
});

test("POST /output does not connect to a denied address", async () => {
  const reply = await ada.call("POST", "/output", output("rtmp", "rtmp://169.254.169.254:1935/live/x"));
  assert.deepEqual([reply.status, reply.body.code], [422, "address_refused"]);
  assert.equal(reply.body.errors[0].path, "/url");
  const datagrams = await ada.call("POST", "/output", output("cot", "udp://169.254.169.254:80"));
  assert.deepEqual([datagrams.status, datagrams.body.code], [422, "address_refused"]);
});

test("changes alias, URL, resolution and codec; credentials that are sent back masked stay", async () => {
  const ben = await service.addUser();
  const made = (await ben.call("POST", "/output", output("rtmp", "rtmp://u:secret@127.0.0.1:1/live/a"))).body;
  assert.equal(made.url, "rtmp://***@127.0.0.1:1/live/a");
  const path = `/output/${made.uuid}`;
  const back = await ben.call("PATCH", path, { ...made, alias: "north" });
  assert.deepEqual([back.status, back.body.alias, back.body.url], [200, "north", made.url]);
  const changed = await ben.call("PATCH", path, { settings: "360p", codec: "h265" });
  assert.deepEqual([changed.body.settings, changed.body.codec, changed.body.url], ["360p", "h265", made.url]);
  // It is identical to what it says now, and not to what it was.
  const target = output("rtmp", "rtmp://u:secret@127.0.0.1:1/live/a", { settings: "360p", codec: "h265" });
  assert.equal((await ben.call("POST", "/output", target)).body.uuid, made.uuid);
  const moved = await ben.call("PATCH", path, { url: "rtmp://127.0.0.1:1/live/b", settings: null });
  assert.deepEqual([moved.body.url, moved.body.settings], ["rtmp://127.0.0.1:1/live/b", null]);
  const wrong = await ben.call("PATCH", path, { url: "rtsp://b" });
  assert.deepEqual([wrong.status, wrong.body.errors?.[0]?.path], [422, "/url"]);
  assert.equal((await ada.call("PATCH", path, { alias: "mine" })).body.code, "output_not_found");
});

test("an output cannot become identical to another, and an attached one only changes its alias", async () => {
  const ben = await service.addUser();
  const first = (await ben.call("POST", "/output", output("rtsp", "rtsp://one"))).body;
  const second = (await ben.call("POST", "/output", output("rtsp", "rtsp://two"))).body;
  const twin = await ben.call("PATCH", `/output/${second.uuid}`, { url: "rtsp://one" });
  assert.deepEqual([twin.status, twin.body.code], [409, "output_exists"]);
  const process = await insertProcess(service.sql, ben.user.uuid, newUuid(), "running");
  await service.sql`insert into process_outputs (output_uuid, process_uuid) values (${first.uuid}, ${process})`;
  const busy = await ben.call("PATCH", `/output/${first.uuid}`, { settings: "360p" });
  assert.deepEqual([busy.status, busy.body.code], [409, "output_in_use"]);
  assert.equal((await ben.call("PATCH", `/output/${first.uuid}`, { alias: "gate" })).body.alias, "gate");
});
