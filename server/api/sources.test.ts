import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Client, insertProcess, openSourcesService, type SourcesService } from "../sources/sources.fixture.ts";
import { newUuid } from "../uuid.ts";

let service: SourcesService;
let ada: Client;
before(async () => {
  service = await openSourcesService({ NETWORK_DENY: "10.0.0.0/8" });
  ada = await service.addUser();
});
after(() => service?.close());

const stream = (input_url: string, more: object = {}) => ({ alias: "cam", input_url, stream_type: "rtsp", ...more });
const mqtt = (parameters: object, more: object = {}) => ({ type: "mqtt", parameters, ...more });
const BROKER = { ip: "192.0.2.7", port: 1883, topic: "drone/1" };

test("registers, lists, shows and deletes a stream", async () => {
  const eve = await service.addUser();
  const made = await eve.call("POST", "/stream", stream("rtsp://192.0.2.1/main"));
  assert.equal(made.status, 201);
  const { uuid, source_uuid, created_at, ...rest } = made.body;
  assert.equal(source_uuid, uuid);
  assert.match(created_at, /Z$/);
  assert.deepEqual(rest, {
    alias: "cam",
    type: "stream",
    stream_type: "rtsp",
    input_url: "rtsp://192.0.2.1/main",
    telemetry_cfg: null,
    loop: false,
    status: "unknown",
  });
  assert.deepEqual((await eve.call("GET", "/sources")).body, { sources: [made.body] });
  const details = { status_detail: null, codec: null, width: null, height: null };
  assert.deepEqual(await eve.call("GET", `/source/${uuid}`), {
    status: 200,
    body: { ...made.body, ...details, fps: null, duration_seconds: null, bytes: null },
  });
  assert.deepEqual(await eve.call("DELETE", `/source/${uuid}`), { status: 200, body: { deleted: true, uuid } });
  for (const method of ["GET", "DELETE"]) {
    const gone = await eve.call(method, `/source/${uuid}`);
    assert.deepEqual([gone.status, gone.body.code], [404, "source_not_found"]);
  }
});

test("returns the existing stream for the same URL and telemetry, whatever the alias", async () => {
  const url = "rtsp://198.51.100.2/main";
  const first = await ada.call("POST", "/stream", stream(url));
  const again = await ada.call(
    "POST",
    "/stream",
    stream("RTSP://198.51.100.2/main".replace("RTSP", "rtsp"), { alias: "b" }),
  );
  assert.deepEqual([again.status, again.body.uuid, again.body.alias], [200, first.body.uuid, "cam"]);
  const telemetry = await ada.call("POST", "/stream", stream(url, { telemetry_cfg: mqtt(BROKER) }));
  assert.equal(telemetry.status, 201);
  const { topic, port, ip } = BROKER;
  const reordered = { parameters: { topic, port, ip }, format: "native", type: "mqtt" };
  const same = await ada.call("POST", "/stream", stream(url, { telemetry_cfg: reordered }));
  assert.deepEqual([same.status, same.body.uuid], [200, telemetry.body.uuid]);
  const other = await (await service.addUser()).call("POST", "/stream", stream(url));
  assert.equal(other.status, 201, "another user's is another");
});

test("many identical concurrent registrations create one source", async () => {
  const eve = await service.addUser();
  const replies = await Promise.all(
    Array.from({ length: 8 }, () => eve.call("POST", "/stream", stream("rtsp://192.0.2.3/x"))),
  );
  assert.equal(replies.filter(({ status }) => status === 201).length, 1);
  assert.equal(new Set(replies.map(({ body }) => body.uuid)).size, 1);
});

test("concurrent requests do not exceed the source limit; an existing source is returned at the limit", async () => {
  const eve = await service.addUser({ sources: 3 });
  const replies = await Promise.all(
    Array.from({ length: 8 }, (_, i) => eve.call("POST", "/stream", stream(`rtsp://192.0.2.4/${i}`))),
  );
  const made = replies.filter(({ status }) => status === 201);
  assert.equal(made.length, 3);
  const rejected = replies.filter(({ status }) => status === 403);
  assert.deepEqual(new Set(rejected.map(({ body }) => body.code)), new Set(["sources_limit_reached"]));
  const again = await eve.call("POST", "/stream", stream(made[0]?.body.input_url));
  assert.equal(again.status, 200);
});

test("credentials are never shown, and masked ones are rejected", async () => {
  const made = await ada.call("POST", "/stream", stream("rtsp://admin:hunter2@192.0.2.5/x?token=abc"));
  assert.equal(made.status, 201);
  assert.equal(made.body.input_url, "rtsp://***@192.0.2.5/x?token=***");
  const back = await ada.call("POST", "/stream", stream(made.body.input_url));
  assert.deepEqual([back.status, back.body.errors[0].path], [422, "/input_url"]);
  const input = await service.sources.resolveInput(ada.user.uuid, made.body.uuid);
  assert.equal(input.uri, "rtsp://admin:hunter2@192.0.2.5/x?token=abc");
  assert.equal(input.label, made.body.input_url);
  assert.doesNotMatch(service.app.logged.join(), /hunter2/);
});

test("a resumed stream is resolved when it is located, not before", async () => {
  const { body } = await ada.call("POST", "/stream", stream("rtsp://192.0.2.7/moved"));
  const moved = service.sql.typed.sealed("rtsp://169.254.169.254/moved");
  await service.sql`update sources set input_url = ${moved} where uuid = ${body.uuid}`;
  const resolve = (isResumed: boolean) => service.sources.resolveInput(ada.user.uuid, body.uuid, { isResumed });
  await assert.rejects(resolve(false), { code: "address_refused" });
  await assert.rejects((await resolve(true)).locate(), { code: "address_refused" });
});

test("PATCH changes alias and telemetry, and keeps omitted fields and a masked password", async () => {
  const cfg = mqtt({ ...BROKER, username: "u", password: "hunter3" });
  const { body } = await ada.call("POST", "/stream", stream("rtsp://192.0.2.6/x", { telemetry_cfg: cfg }));
  assert.equal(body.telemetry_cfg.parameters.password, "***");
  const path = `/source/${body.uuid}`;
  const renamed = await ada.call("PATCH", path, { alias: "new" });
  assert.deepEqual(renamed.body, { ...body, alias: "new" });
  const changeTo = (change: object) => ({
    ...body.telemetry_cfg,
    parameters: { ...body.telemetry_cfg.parameters, ...change },
  });
  const shifted = changeTo({ topic: "elsewhere" });
  const changed = await ada.call("PATCH", path, { telemetry_cfg: shifted });
  assert.equal(changed.body.telemetry_cfg.parameters.topic, "elsewhere");
  for (const [name, change] of Object.entries({
    host: { ip: "192.0.2.66" },
    port: { port: 8883 },
    user: { username: "eve" },
  })) {
    const taken = await ada.call("PATCH", path, { telemetry_cfg: changeTo(change) });
    const answered = [taken.status, taken.body.errors?.[0]?.path];
    assert.deepEqual(answered, [422, "/telemetry_cfg/parameters/password"], `never for another ${name}`);
  }
  const [row] = await service.sql`select telemetry_cfg from sources where uuid = ${body.uuid}`;
  assert.equal(row?.telemetryCfg.parameters.password, "hunter3");
  assert.equal((await ada.call("PATCH", path, { telemetry_cfg: null })).body.telemetry_cfg, null);
  const masked = await ada.call("PATCH", path, { telemetry_cfg: shifted });
  assert.deepEqual([masked.status, masked.body.errors[0].path], [422, "/telemetry_cfg/parameters/password"]);
  assert.equal((await ada.call("PATCH", `/source/${newUuid()}`, { alias: "x" })).status, 404);
  assert.doesNotMatch(service.app.logged.join(), /hunter3/);
});

test("PATCH of an unknown source returns 404, whatever broker it names", async () => {
  const telemetry_cfg = mqtt({ ...BROKER, ip: "169.254.169.254" });
  const absent = await ada.call("PATCH", `/source/${newUuid()}`, { telemetry_cfg });
  assert.deepEqual([absent.status, absent.body.code], [404, "source_not_found"]);
  const { body } = await ada.call("POST", "/stream", stream("rtsp://192.0.2.61/x"));
  const rejected = await ada.call("PATCH", `/source/${body.uuid}`, { telemetry_cfg });
  assert.equal(rejected.body.code, "address_refused");
});

test("does not return a rejected password", async () => {
  for (const password of [83174629, ["hunter7"], "hunter7".repeat(50), "hunter7\u0001"]) {
    const telemetry_cfg = mqtt({ ...BROKER, username: "u", password } as never);
    const reply = await ada.call("POST", "/stream", stream("rtsp://192.0.2.62/x", { telemetry_cfg }));
    assert.deepEqual([reply.status, reply.body.errors[0].path], [422, "/telemetry_cfg/parameters/password"]);
    assert.match(reply.body.errors[0].message, /^is something else; expected text: .*1 to 255 characters/);
    assert.doesNotMatch(JSON.stringify(reply.body) + service.app.logged.join(), /hunter7|83174629/);
  }
});

test("PATCH does not make two sources identical", async () => {
  const url = "rtsp://192.0.2.8/x";
  const plain = await ada.call("POST", "/stream", stream(url));
  const other = await ada.call("POST", "/stream", stream(url, { telemetry_cfg: { type: "websocket" } }));
  const reply = await ada.call("PATCH", `/source/${other.body.uuid}`, { telemetry_cfg: null });
  assert.deepEqual([reply.status, reply.body.code], [409, "source_exists"]);
  assert.match(reply.body.detail, new RegExp(plain.body.uuid));
});

test("a source with a running process is `processing` and cannot be deleted", async () => {
  const { body } = await ada.call("POST", "/stream", stream("rtsp://192.0.2.9/x"));
  const process = await insertProcess(service.sql, ada.user.uuid, body.uuid, "running");
  assert.equal((await ada.call("GET", `/source/${body.uuid}`)).body.status, "processing");
  const rejected = await ada.call("DELETE", `/source/${body.uuid}`);
  assert.deepEqual([rejected.status, rejected.body.code], [409, "source_in_use"]);
  await service.sql`update processes set state = 'finished' where uuid = ${process}`;
  assert.equal((await ada.call("GET", `/source/${body.uuid}`)).body.status, "unknown");
  assert.equal((await ada.call("DELETE", `/source/${body.uuid}`)).status, 200);
});

test("a source of another user is not found", async () => {
  const { body } = await ada.call("POST", "/stream", stream("rtsp://192.0.2.10/x"));
  const eve = await service.addUser();
  for (const [method, change] of [["GET"], ["DELETE"], ["PATCH", { alias: "mine" }]] as const) {
    const reply = await eve.call(method, `/source/${body.uuid}`, change);
    assert.deepEqual([reply.status, reply.body.code], [404, "source_not_found"]);
  }
  await assert.rejects(service.sources.resolveInput(eve.user.uuid, body.uuid), { code: "source_not_found" });
});

test("the listing is newest first, complete or in consecutive pages", async () => {
  const eve = await service.addUser();
  const uuids: string[] = [];
  for (let i = 0; i < 5; i += 1) {
    const { body } = await eve.call("POST", "/stream", stream(`rtsp://192.0.2.11/${i}`));
    uuids.unshift(body.uuid);
  }
  const idsOf = (reply: { body: { sources: { uuid: string }[] } }) => reply.body.sources.map(({ uuid }) => uuid);
  assert.deepEqual(idsOf(await eve.call("GET", "/sources")), uuids);
  const seen: string[] = [];
  for (let cursor = ""; ; ) {
    const page = await eve.call("GET", `/sources?limit=2${cursor}`);
    seen.push(...idsOf(page));
    if (page.body.next_cursor === undefined) break;
    cursor = `&cursor=${page.body.next_cursor}`;
  }
  assert.deepEqual(seen, uuids);
  for (const query of ["cursor=x", "limit=0", "limit=1001", "limit=x", "limit=1&cursor="]) {
    const reply = await eve.call("GET", `/sources?${query}`);
    assert.deepEqual([reply.status, reply.body.code], [422, "invalid_input"], query);
  }
});

const withTelemetry = (telemetry_cfg: unknown) => stream("rtsp://192.0.2.20/x", { telemetry_cfg });
const FOV = { sensor_hfov: 60, sensor_vfov: 40 };

const REJECTED: readonly (readonly [why: string, body: unknown, path: string])[] = [
  ["no body", {}, "/alias"],
  ["an empty alias", stream("rtsp://192.0.2.1/x", { alias: "" }), "/alias"],
  ["a blank alias", stream("rtsp://192.0.2.1/x", { alias: "  " }), "/alias"],
  ["an alias that is too long", stream("rtsp://192.0.2.1/x", { alias: "x".repeat(256) }), "/alias"],
  ["control characters in the alias", stream("rtsp://192.0.2.1/x", { alias: "a\u0007b" }), "/alias"],
  ["NUL in the alias", stream("rtsp://192.0.2.1/x", { alias: "a\u0000b" }), "/alias"],
  ["an alias that is not a string", stream("rtsp://192.0.2.1/x", { alias: 5 }), "/alias"],
  ["another scheme", stream("http://192.0.2.1/x"), "/input_url"],
  ["a file", stream("file:///etc/passwd"), "/input_url"],
  ["a path", stream("/etc/passwd"), "/input_url"],
  ["no host", stream("rtsp:///x"), "/input_url"],
  ["a space", stream("rtsp://192.0.2.1/a b"), "/input_url"],
  ["a line break", stream("rtsp://192.0.2.1/a\nb"), "/input_url"],
  ["two @", stream("rtsp://a@b@192.0.2.1/"), "/input_url"],
  ["an invalid port", stream("rtsp://192.0.2.1:70000/"), "/input_url"],
  ["a type that does not match the scheme", stream("rtsp://192.0.2.1/x", { stream_type: "rtmp" }), "/input_url"],
  ["an unknown type", stream("rtsp://192.0.2.1/x", { stream_type: "ndi" }), "/stream_type"],
  ["telemetry that is not an object", withTelemetry("mqtt"), "/telemetry_cfg"],
  ["telemetry without a channel", withTelemetry({}), "/telemetry_cfg/type"],
  ["an unknown channel", withTelemetry({ type: "serial" }), "/telemetry_cfg/type"],
  ["udp without parameters", withTelemetry({ type: "udp" }), "/telemetry_cfg/parameters"],
  ["embedded in another format", withTelemetry({ type: "embedded", format: "native" }), "/telemetry_cfg/format"],
  ["an unknown format", withTelemetry(mqtt(BROKER, { format: "xml" })), "/telemetry_cfg/format"],
  ["mqtt without parameters", withTelemetry({ type: "mqtt" }), "/telemetry_cfg/parameters"],
  ["mqtt with parameters null", withTelemetry({ type: "mqtt", parameters: null }), "/telemetry_cfg/parameters"],
  ["static with parameters null", withTelemetry({ type: "static", parameters: null }), "/telemetry_cfg/parameters"],
  [
    "websocket with a string for a number",
    withTelemetry({ type: "websocket", parameters: { sensor_hfov: "60" } }),
    "/telemetry_cfg/parameters/sensor_hfov",
  ],
  ["mqtt without a topic", withTelemetry(mqtt({ ip: "h", port: 1 })), "/telemetry_cfg/parameters/topic"],
  [
    "mqtt with a wildcard in the middle of a topic",
    withTelemetry(mqtt({ ip: "h", port: 1, topic: "a/#/b" })),
    "/telemetry_cfg/parameters/topic",
  ],
  [
    "mqtt with a wildcard within a level",
    withTelemetry(mqtt({ ip: "h", port: 1, topic: "a/b+" })),
    "/telemetry_cfg/parameters/topic",
  ],
  ["a port as a string", withTelemetry(mqtt({ ...BROKER, port: "1883" })), "/telemetry_cfg/parameters/port"],
  ["port 0", withTelemetry(mqtt({ ...BROKER, port: 0 })), "/telemetry_cfg/parameters/port"],
  ["a broker with a path", withTelemetry(mqtt({ ...BROKER, ip: "h/x" })), "/telemetry_cfg/parameters/ip"],
  [
    "a masked password without a stored one",
    withTelemetry(mqtt({ ...BROKER, password: "***" })),
    "/telemetry_cfg/parameters/password",
  ],
  [
    "static without fields of view",
    withTelemetry({ type: "static", parameters: {} }),
    "/telemetry_cfg/parameters/sensor_hfov",
  ],
  [
    "static with a string",
    withTelemetry({ type: "static", parameters: { ...FOV, latitude: "1" } }),
    "/telemetry_cfg/parameters/latitude",
  ],
  [
    "static out of range",
    withTelemetry({ type: "static", parameters: { ...FOV, latitude: 91 } }),
    "/telemetry_cfg/parameters/latitude",
  ],
  [
    "static in a vendor format",
    withTelemetry({ type: "static", format: "vendor_a", parameters: FOV }),
    "/telemetry_cfg/format",
  ],
];
for (const [why, body, path] of REJECTED) {
  test(`POST /stream rejects ${why}`, async () => {
    const reply = await ada.call("POST", "/stream", body);
    assert.deepEqual([reply.status, reply.body.code], [422, "invalid_input"]);
    const paths = reply.body.errors.map((fault: { path: string }) => fault.path);
    assert.ok(paths.includes(path), `${path} is among ${paths}`);
  });
}

for (const [path, body] of [
  ["/input_url", stream("rtsp://169.254.169.254/x")],
  ["/input_url", stream("rtsp://10.1.1.1/x")],
  ["/telemetry_cfg/parameters/ip", withTelemetry(mqtt({ ...BROKER, ip: "10.0.0.1" }))],
  ["/telemetry_cfg/parameters/ip", withTelemetry(mqtt({ ...BROKER, ip: "fe80::1" }))],
] as const) {
  test(`POST /stream does not connect to a denied address: ${JSON.stringify(body).slice(0, 120)}`, async () => {
    const reply = await ada.call("POST", "/stream", body);
    assert.deepEqual([reply.status, reply.body.code], [422, "address_refused"]);
    assert.equal(reply.body.errors[0].path, path);
  });
}

const ACCEPTED: readonly (readonly [why: string, body: unknown])[] = [
  ["rtsps", stream("rtsps://192.0.2.30/x")],
  ["rtmp", { alias: "x", input_url: "rtmp://192.0.2.30/live/x", stream_type: "rtmp" }],
  ["rtmps", { alias: "x", input_url: "rtmps://192.0.2.30/live/x", stream_type: "rtmp" }],
  ["IPv6", stream("rtsp://[2001:db8::1]:554/x")],

  ["telemetry null", stream("rtsp://192.0.2.32/x", { telemetry_cfg: null })],
  ["websocket", stream("rtsp://192.0.2.33/x", { telemetry_cfg: { type: "websocket" } })],
  [
    "websocket with parameters null",
    stream("rtsp://192.0.2.37/x", { telemetry_cfg: { type: "websocket", parameters: null } }),
  ],
  ["a URL with a trailing slash", { alias: "x", input_url: "rtmp://192.0.2.30/live/", stream_type: "rtmp" }],
  ["vendor_a by mqtt", stream("rtsp://192.0.2.34/x", { telemetry_cfg: mqtt(BROKER, { format: "vendor_a" }) })],
  [
    "static",
    stream("rtsp://192.0.2.35/x", { telemetry_cfg: { type: "static", parameters: { ...FOV, altitude: 30 } } }),
  ],
  ["an alias that looks like a path", stream("rtsp://192.0.2.36/x", { alias: "../../etc/passwd" })],
];
for (const [why, body] of ACCEPTED) {
  test(`POST /stream accepts ${why}`, async () => {
    assert.equal((await ada.call("POST", "/stream", body)).status, 201);
  });
}

test("websocket telemetry without parameters is identical in every notation", async () => {
  const url = "rtsp://192.0.2.41/x";
  const made = await ada.call("POST", "/stream", stream(url, { telemetry_cfg: { type: "websocket" } }));
  for (const parameters of [null, {}]) {
    const again = await ada.call("POST", "/stream", stream(url, { telemetry_cfg: { type: "websocket", parameters } }));
    assert.deepEqual([again.status, again.body.uuid], [200, made.body.uuid]);
  }
});

test("rejects unknown fields", async () => {
  const cfg = { type: "static", more: 1, parameters: { ...FOV, wings: 2 } };
  const { status, body } = await ada.call("POST", "/stream?source=1", {
    ...stream("rtsp://192.0.2.31/x", { telemetry_cfg: cfg }),
    aliass: "x",
  });
  assert.equal(status, 422);
  assert.deepEqual(body.errors.map(({ path }: { path: string }) => path).sort(), [
    ...["/aliass", "/telemetry_cfg/more", "/telemetry_cfg/parameters/wings", "source"],
  ]);
});

test("returns telemetry with defaults", async () => {
  const cfg = { type: "static", parameters: FOV };
  const { body } = await ada.call("POST", "/stream", stream("rtsp://192.0.2.40/x", { telemetry_cfg: cfg }));
  assert.deepEqual(body.telemetry_cfg, { type: "static", format: "native", parameters: FOV });
});
