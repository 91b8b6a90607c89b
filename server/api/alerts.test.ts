import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { ALERT_TYPES } from "../../elements/alerts/types.ts";
import type { AlertRecord } from "../../schemas/api/alerts.ts";
import { type AlertNotice, AlertNotice as AlertNoticeSchema } from "../../schemas/api/events.ts";
import { poll } from "../../test/watch.fixture.ts";
import { type AlertsService, CLASSES, gate, MQTT, OWN_RULE, openAlerts } from "../alerts/alerts.fixture.ts";
import { AlertWriter, type QueuedEvent } from "../alerts/alerts.ts";
import { addUser } from "../processes/supervisor.fixture.ts";
import { silentLog, type TestDatabase, testDatabase } from "../store/database.fixture.ts";
import { newUuid } from "../uuid.ts";
import { checkBy } from "../validation.ts";

let database: TestDatabase;
let service: AlertsService;
before(async () => {
  database = await testDatabase();
  service = await openAlerts(database.sql, { isAlone: false });
});
after(async () => {
  await service?.close();
  await database?.close();
});

/** Cleans up after each test. */
afterEach(async () => {
  const { stage, call } = service;
  await stage.supervisor.stopAll(stage.user);
  for (const uuid of uuidsOf((await call("GET", "/alerts")).body)) await call("DELETE", `/alert/${uuid}`);
});

function eventOf(processUuid: string, alertUuid: string, id: string, sent: string[] = []): QueuedEvent {
  const { row, fence } = service.stage.supervisor.held(processUuid) ?? assert.fail();
  const event = { alert: alertUuid, type: "flow-control", timeMs: Date.now(), event: "triggered" as const };
  return {
    ...{ id, owner: processUuid, bytes: 100, event: { ...event, tracks: [], data: {} } },
    process: { row, fence, notify: (notice) => notice.type === "alert" && sent.push(notice.notice.id) },
  };
}

const countOf = (count: number) => ({ trigger: { count } });
const uuidsOf = (body: { alerts: readonly AlertRecord[] }) => body.alerts.map(({ uuid }) => uuid);

for (const { name } of ALERT_TYPES)
  test(`describes ${name} with an example that can be posted unchanged`, async () => {
    const { call } = service;
    const { status, body } = await call("GET", `/alert_description?name=${name}`);
    assert.deepEqual([status, body.name, body.type], [200, name, name]);
    for (const part of ["trigger", "region", "filter", "parameters"]) assert.equal(body.schemas[part].type, "object");
    assert.deepEqual((await call("GET", `/alert_description?type=${name}`)).body, body);
    const made = await call("POST", "/alert", body.example);
    assert.equal(made.status, 201, JSON.stringify(made.body));
    assert.equal(made.body.type, name);
    assert.equal((await call("DELETE", `/alert/${made.body.uuid}`)).status, 200);
  });

test("an unknown type is rejected with the known types and the closest match", async () => {
  const { call } = service;
  const wrong = await call("GET", "/alert_description?name=grid-densty");
  assert.deepEqual([wrong.status, wrong.body.errors[0].path], [422, "name"]);
  assert.match(wrong.body.errors[0].message, /flow-control.*did you mean "grid-density"/);
  assert.equal((await call("GET", "/alert_description")).status, 422);
});

test("registers, shows, lists and deletes an alert; shows its secrets once", async () => {
  const { call, make, app } = service;
  const output = [
    { type: "mqtt", config: { host: "mqtt://ada:hunter6@localhost", topic: "a" } },
    { type: "mqtt", config: { host: "127.0.0.1:9", topic: "b", qos: 0, username: "bo", password: "hunter7" } },
    { type: "webhook", config: { url: "http://127.0.0.1:9/hook?token=hunter8" } },
  ];
  const made = await make(gate({ output, filter: { class_names: ["car"] } }));
  const { uuid, alert_uuid, created_at, delivery, ...rest } = made;
  const secret = String(made.output[2]?.config.secret);
  assert.match(secret, /^whsec_[A-Za-z0-9+/]{32}$/);
  assert.equal(alert_uuid, uuid);
  assert.match(created_at, /Z$/);
  assert.deepEqual(
    delivery.map(({ type, waiting, last_error }) => [type, waiting, last_error]),
    [
      ["mqtt", 0, null],
      ["mqtt", 0, null],
      ["webhook", 0, null],
    ],
  );
  assert.deepEqual(rest.output.slice(0, 2), [
    { type: "mqtt", config: { host: "mqtt://localhost", topic: "a", qos: 1, username: "ada", password: "***" } },
    { type: "mqtt", config: { host: "127.0.0.1:9", topic: "b", qos: 0, username: "bo", password: "***" } },
  ]);
  assert.deepEqual(rest.output[2]?.config, { url: "http://127.0.0.1:9/hook?token=***", secret });
  assert.deepEqual(
    [rest.alias, rest.type, rest.status, rest.process_uuid, rest.pending],
    ["gate", "flow-control", "active", null, null],
  );
  // Complete, with defaults.
  assert.deepEqual(rest.trigger, { count: 1, direction: "any", cooldown_seconds: 0 });
  assert.deepEqual(rest.filter.class_names, ["car"]);
  const shown = (await call("GET", `/alert/${uuid}`)).body as AlertRecord;
  assert.equal(shown.output[2]?.config.secret, "***");
  assert.deepEqual((await call("GET", "/alerts")).body, { alerts: [shown] });
  const back = await call("PATCH", `/alert/${uuid}`, { ...shown, alias: "other" });
  assert.deepEqual(back, { status: 200, body: { ...shown, alias: "other" } });
  const [{ output: kept } = { output: [] }] = await database.sql`select output from alerts where uuid = ${uuid}`;
  assert.deepEqual(
    kept.map(({ config }: { config: Record<string, unknown> }) => config.password ?? config.url),
    ["hunter6", "hunter7", "http://127.0.0.1:9/hook?token=hunter8"],
  );
  assert.equal(kept[2].config.secret, secret);
  assert.deepEqual(await call("DELETE", `/alert/${uuid}`), { status: 200, body: { deleted: true, uuid } });
  for (const method of ["GET", "DELETE", "PATCH"]) {
    const gone = await call(method, `/alert/${uuid}`, method === "PATCH" ? {} : undefined);
    assert.deepEqual([gone.status, gone.body.code], [404, "alert_not_found"]);
  }
  const left = await database.sql`select from destinations where not is_closed`;
  assert.equal(left.length, 0);
  assert.doesNotMatch(app.logged.join(), /hunter|whsec_/);
});

const webhook = (url: string, more: object = {}) => ({ output: [{ type: "webhook", config: { url, ...more } }] });
const mqtt = (config: object) => ({ output: [{ type: "mqtt", config: { ...MQTT.config, ...config } }] });
const grid = (more: object) => ({ ...gate(), type: "grid-density", region: {}, ...more });
const square = (...polygon: readonly (readonly number[])[]) => grid({ region: { type: "image", polygon } });

const REJECTED: readonly (readonly [why: string, body: object, ...paths: readonly string[]])[] = [
  ["an unknown type", gate({ type: "flow" }), "/type"],
  ["no alias", { type: "filter-search" }, "/alias"],
  ["17 outputs", gate({ output: Array(17).fill(MQTT) }), "/output"],
  ["an output of an unknown type", gate({ output: [{ type: "kafka", config: {} }] }), "/output/0/type"],
  ["an output without a configuration", gate({ output: [{ type: "mqtt" }] }), "/output/0/config"],
  ["a topic with a wildcard", gate(mqtt({ topic: "a/#" })), "/output/0/config/topic"],
  ["an empty topic", gate(mqtt({ topic: "" })), "/output/0/config/topic"],
  ["a topic with a NUL", gate(mqtt({ topic: "a\u0000" })), "/output/0/config/topic"],
  ["qos 3", gate(mqtt({ qos: 3 })), "/output/0/config/qos"],
  ["a misspelt field of an output", gate(mqtt({ user: "x" })), "/output/0/config/user"],
  ["a broker with an unknown scheme", gate(mqtt({ host: "amqp://127.0.0.1" })), "/output/0/config/host"],
  ["a broker with a path", gate(mqtt({ host: "mqtt://127.0.0.1/a" })), "/output/0/config/host"],
  ["an invalid port", gate(mqtt({ host: "127.0.0.1:99999" })), "/output/0/config/host"],
  ["a password without a name", gate(mqtt({ password: "x" })), "/output/0/config/username"],
  ["a password that was never sent", gate(mqtt({ username: "a", password: "***" })), "/output/0/config/password"],
  ["a broker whose name does not resolve", gate(mqtt({ host: "broker.invalid" })), "/output/0/config/host"],
  ["a webhook by ftp", gate(webhook("ftp://127.0.0.1/x")), "/output/0/config/url"],
  ["an invalid secret", gate(webhook("http://127.0.0.1/x", { secret: "abc" })), "/output/0/config/secret"],
  ["a polygon of two points", square([0, 0], [1, 1]), "/region/polygon"],
  ["a polygon that crosses itself", square([0, 0], [1, 1], [1, 0], [0, 1]), "/region/polygon"],
  ["a polygon outside the frame", square([0, 0], [1.5, 1], [1, 0]), "/region/polygon/1"],
  ["cooldown -1", gate({ trigger: { cooldown_seconds: -1 } }), "/trigger/cooldown_seconds"],
  ["a misspelt trigger", gate({ trigger: { cuont: 1 } }), "/trigger/cuont"],
  ["a misspelt field", gate({ triger: {} }), "/triger"],
  ["a line without its points", gate({ region: {} }), "/region/line"],
  [
    "unknown classes",
    gate({ filter: { class_names: ["car", "cra", "ufo"] } }),
    "/filter/class_names/1",
    "/filter/class_names/2",
  ],
];
for (const [why, body, ...paths] of REJECTED)
  test(`POST /alert rejects ${why}`, async () => {
    const reply = await service.call("POST", "/alert", body);
    assert.deepEqual([reply.status, reply.body.code], [422, "invalid_input"], JSON.stringify(reply.body));
    assert.deepEqual(reply.body.errors.map(({ path }: { path: string }) => path).sort(), paths);
  });

test("an unknown class is rejected with the closest match and the known classes", async () => {
  const { body } = await service.call("POST", "/alert", gate({ filter: { class_names: ["cra"] } }));
  assert.match(body.errors[0].message, /"cra".*did you mean "car"/);
  for (const name of CLASSES) assert.match(body.errors[0].message, new RegExp(`\\b${name}\\b`));
});

test("POST /alert does not connect to a denied address", async () => {
  for (const [field, output] of [
    ["host", mqtt({ host: "169.254.169.254" })],
    ["host", mqtt({ host: "metadata.google.internal" })],
    ["url", webhook("http://169.254.169.254/latest")],
    ["url", webhook("http://[fe80::1]/")],
  ] as const) {
    const { status, body } = await service.call("POST", "/alert", gate(output));
    assert.deepEqual([status, body.code, body.errors[0].path], [422, "address_refused", `/output/0/config/${field}`]);
  }
});

test("concurrent requests do not exceed the alert limit; alerts of other users are not found; the listing is paged", async () => {
  const eve = await addUser(database.sql);
  service.addUser({ ...eve, limits: { ...eve.limits, alerts: 3 } });
  const { call } = service;
  const raced = await Promise.all(Array.from({ length: 6 }, () => call("POST", "/alert", gate(), eve)));
  assert.deepEqual(raced.map(({ status }) => status).sort(), [201, 201, 201, 403, 403, 403]);
  assert.equal(raced.find(({ status }) => status === 403)?.body.code, "alerts_limit_reached");
  const first = await call("GET", "/alerts?limit=2", undefined, eve);
  const second = await call("GET", `/alerts?limit=2&cursor=${first.body.next_cursor}`, undefined, eve);
  assert.equal(second.body.next_cursor, undefined);
  const all = uuidsOf((await call("GET", "/alerts", undefined, eve)).body);
  assert.deepEqual([...uuidsOf(first.body), ...uuidsOf(second.body)], all);
  assert.deepEqual((await call("GET", "/alerts")).body, { alerts: [] });
  for (const method of ["GET", "PATCH", "DELETE"])
    assert.equal((await call(method, `/alert/${all[0]}`, method === "PATCH" ? {} : undefined)).status, 404);
});

test("two concurrent changes are both applied", async () => {
  const { call, make } = service;
  const { uuid } = await make();
  const counts = [2, 3, 4, 5];
  await Promise.all([
    ...counts.map((count) => call("PATCH", `/alert/${uuid}`, countOf(count))),
    call("PATCH", `/alert/${uuid}`, { filter: { class_names: ["dog"] } }),
    call("PATCH", `/alert/${uuid}`, { alias: "raced" }),
  ]);
  const { body } = await call("GET", `/alert/${uuid}`);
  assert.ok(counts.includes(body.trigger.count));
  assert.deepEqual([body.alias, body.filter.class_names, body.pending], ["raced", ["dog"], null]);
});

test("a change keeps omitted fields, replaces sent fields completely, and never sends a password to another broker or for another user", async () => {
  const { call, make } = service;
  const output = mqtt({ username: "ada", password: "hunter9" }).output;
  const { uuid } = await make(gate({ output, trigger: { count: 3, direction: "forward" } }));
  const path = `/alert/${uuid}`;
  assert.equal((await call("PATCH", path, {})).status, 200);
  assert.deepEqual((await call("PATCH", path, countOf(7))).body.trigger, {
    count: 7,
    direction: "any",
    cooldown_seconds: 0,
  });
  for (const [body, at] of [
    [{ trigger: { count: 0 } }, "/trigger/count"],
    [{ trigger: null }, "/trigger"],
    [{ type: "grid-density" }, "/type"],
    [{ filter: { class_names: ["ufo"] } }, "/filter/class_names/0"],
    [mqtt({ host: "127.0.0.1:10", username: "ada", password: "***" }), "/output/0/config/password"],
    [mqtt({ username: "eve", password: "***" }), "/output/0/config/password"],
  ] as const) {
    const rejected = await call("PATCH", path, body);
    assert.deepEqual([rejected.status, rejected.body.errors?.[0]?.path], [422, at]);
  }
  const moved = await call("PATCH", path, mqtt({ topic: "elsewhere", username: "ada", password: "***" }));
  assert.deepEqual(moved.body.output[0].config, {
    ...MQTT.config,
    topic: "elsewhere",
    qos: 1,
    username: "ada",
    password: "***",
  });
  const [kept] =
    await database.sql`select target from destinations where not is_closed and user_uuid = ${service.stage.user.uuid}`;
  assert.deepEqual([kept?.target.password, kept?.target.topic], ["hunter9", "elsewhere"]);
  const hooked = await call("PATCH", path, webhook("http://127.0.0.1:9/hook"));
  assert.match(hooked.body.output[0].config.secret, /^whsec_/, "shown once");
  assert.equal((await call("GET", path)).body.output[0].config.secret, "***");
});

test("a registered alert runs on current and later processes; a change applies at the next start or with `force`", async () => {
  const { stage, call, make, rules } = service;
  const first = await stage.start({}, { graph: "ruled" });
  const bare = await stage.start({}, { graph: "bare" });
  const made = await make(gate(countOf(1)));
  const { uuid } = made;
  const path = `/alert/${uuid}`;
  const triggers = async (process: string) => (await rules(process))[uuid]?.count;
  assert.deepEqual(Object.keys(await rules(first)), [OWN_RULE.alert, uuid]);
  const listed = (await call("GET", "/active/alerts")).body.alerts;
  assert.deepEqual(listed, [{ ...made, process_uuid: first }], "not on the process whose graph cannot evaluate alerts");
  assert.deepEqual([(await stage.row(first))?.alerts, (await stage.row(bare))?.alerts], [[uuid], []]);

  const waiting = (await call("PATCH", path, countOf(2))).body;
  assert.deepEqual([waiting.trigger.count, waiting.pending.trigger.count], [1, 2]);
  assert.equal(await triggers(first), 1);
  const { pid } = await stage.inside(first);
  process.kill(pid, "SIGKILL");
  await stage.waitFor(first, (notice) => notice.type === "restarting");
  await stage.reach(first, "running");
  const restarted = await stage.inside(first);
  assert.deepEqual(
    [restarted.pid === pid, await triggers(first)],
    [false, 1],
    "a restart after a crash applies no pending change",
  );
  assert.deepEqual(Object.keys(restarted.job.live as object), ["watch"], "from the first frame");

  const second = await stage.start();
  assert.deepEqual([await triggers(first), await triggers(second)], [1, 2]);
  const both = (await call("GET", "/active/alerts?limit=1")).body;
  const rest = (await call("GET", `/active/alerts?cursor=${both.next_cursor}`)).body;
  assert.deepEqual(
    [...both.alerts, ...rest.alerts].map((entry) => [
      entry.process_uuid,
      entry.trigger.count,
      entry.pending?.trigger.count,
    ]),
    [
      [second, 2, undefined],
      [first, 1, 2],
    ],
  );
  const forced = (await call("PATCH", `${path}?force=true`, { ...countOf(3), force: false })).body;
  assert.deepEqual([forced.trigger.count, forced.pending], [3, null], "the query takes precedence");
  assert.deepEqual([await triggers(first), await triggers(second)], [3, 3]);

  await call("PATCH", path, { status: "inactive" });
  assert.deepEqual([Object.keys(await rules(first)), await rules(second)], [[OWN_RULE.alert], {}]);
  assert.deepEqual(
    [(await call("GET", "/active/alerts")).body, (await stage.row(first))?.alerts],
    [{ alerts: [] }, []],
  );
  assert.equal((await call("PATCH", path, countOf(4))).body.pending, null, "inactive: nothing is pending");
  await call("PATCH", path, { status: "active" });
  assert.deepEqual([await triggers(first), await triggers(second)], [4, 4]);

  await call("DELETE", path);
  assert.deepEqual([Object.keys(await rules(first)), await rules(second)], [[OWN_RULE.alert], {}]);
});

test("an alert of one process is rejected if its graph cannot evaluate alerts, and is deleted with its process", async () => {
  const { stage, call, make, rules } = service;
  const bare = await stage.start({}, { graph: "bare" });
  const rejected = await call("POST", `/alert/${bare}`, gate());
  assert.deepEqual([rejected.status, rejected.body.code], [409, "graph_lacks"]);
  const absent = await call("POST", `/alert/${newUuid()}`, gate());
  assert.deepEqual([absent.status, absent.body.code], [404, "process_not_found"]);
  const [process, other] = [await stage.start(), await stage.start()];
  const { uuid, ...made } = await make(gate(), process);
  assert.equal(made.process_uuid, process);
  assert.deepEqual([Object.keys(await rules(process)), await rules(other)], [[uuid], {}]);
  assert.deepEqual((await call("GET", "/alerts")).body, { alerts: [] });
  assert.deepEqual(uuidsOf((await call("GET", "/active/alerts")).body), [uuid]);
  assert.equal((await call("PATCH", `/alert/${uuid}?force=true`, countOf(9))).body.trigger.count, 9);
  assert.equal((await rules(process))[uuid]?.count, 9);
  await stage.supervisor.stop(stage.user, process);
  assert.equal((await call("GET", `/alert/${uuid}`)).status, 404);
  assert.deepEqual((await call("GET", "/active/alerts")).body, { alerts: [] });
});

test("an alert event is stored for every output, then sent, with the alias at that time", async () => {
  const { stage, call, make } = service;
  const process = await stage.start({ finds: 2 }, { graph: "ruled" });
  const check = checkBy(AlertNoticeSchema);
  const { uuid } = await make(gate({ output: [MQTT, ...mqtt({ topic: "other" }).output] }));
  const received: AlertNotice[] = [];
  const counts: number[] = [];
  await stage.waitFor(process, (notice) => {
    if (notice.type !== "alert" || notice.notice.alias === OWN_RULE.alert) return false;
    received.push(notice.notice);
    void database.sql`select from parcels where id = ${notice.notice.id}`.then((rows) => counts.push(rows.length));
    if (received.length === 2) void call("PATCH", `/alert/${uuid}`, { alias: "renamed" });
    return notice.notice.alias === "renamed" && counts.length >= 2;
  });
  for (const notice of received) assert.deepEqual(check(notice), []);
  assert.deepEqual([...new Set(received.map(({ alert_uuid }) => alert_uuid))], [uuid]);
  assert.deepEqual(
    [received[0]?.alias, received[0]?.process_uuid, received[0]?.source_uuid],
    ["gate", process, stage.sourceUuid],
  );
  assert.deepEqual(counts.slice(0, 2), [2, 2]);
  const ticks = received.map(({ data }) => Number(data.ticks));
  assert.deepEqual(
    ticks,
    [...ticks].sort((a, b) => a - b),
  );
  const shown = (await call("GET", `/alert/${uuid}`)).body as AlertRecord;
  assert.ok(shown.delivery.every(({ waiting }) => waiting > 0));
});

test("an event of a rule in the graph itself is stored and published, under one uuid for all its processes", async () => {
  const { stage, call, make } = service;
  const check = checkBy(AlertNoticeSchema);
  await make(gate());
  const notices: AlertNotice[] = [];
  for (const finds of [2, 3]) {
    const process = await stage.start({ finds }, { graph: "ruled" });
    await stage.waitFor(process, (notice) => {
      if (notice.type !== "alert" || notice.notice.alias !== OWN_RULE.alert) return false;
      notices.push(notice.notice);
      return true;
    });
  }
  const [first, second] = notices;
  assert.ok(first !== undefined && second !== undefined);
  assert.deepEqual([check(first), first.alias, first.type], [[], OWN_RULE.alert, OWN_RULE.type]);
  assert.equal(first.alert_uuid, second.alert_uuid);
  assert.notEqual(first.process_uuid, second.process_uuid);
  assert.equal((await call("GET", `/notice/${first.id}`)).body.alias, OWN_RULE.alert);
  const listed = (await call("GET", `/notices?alert=${first.alert_uuid}&process=${second.process_uuid}`)).body.notices;
  assert.ok(listed.some(({ id }: AlertNotice) => id === second.id));
});

test("an alert of type graph-rule gets the events of a rule in the graph, and delivers them", async () => {
  const { stage, call, make } = service;
  const body = { alias: "came in", type: "graph-rule", parameters: { rule: OWN_RULE.alert }, output: [MQTT] };
  const { uuid } = await make(body);
  const elsewhere = await make({ ...body, alias: "another rule", parameters: { rule: "absent" } });
  const process = await stage.start({ finds: 2 }, { graph: "ruled" });
  let notice: AlertNotice | null = null;
  await stage.waitFor(process, (event) => {
    if (event.type !== "alert" || event.notice.alert_uuid !== uuid) return false;
    notice = event.notice;
    return true;
  });
  const { alias, type } = notice ?? assert.fail();
  assert.deepEqual([alias, type], ["came in", OWN_RULE.type]);
  const shown = (await call("GET", `/alert/${uuid}`)).body as AlertRecord;
  assert.ok(shown.delivery.every(({ waiting }) => waiting > 0));
  const listed = (await call("GET", `/notices?process=${process}`)).body.notices as readonly AlertNotice[];
  assert.deepEqual([...new Set(listed.map(({ alert_uuid }) => alert_uuid))], [uuid]);
  // Its runner has only the rules that it evaluates.
  const { job } = await stage.inside(process);
  assert.doesNotMatch(JSON.stringify(job), /graph-rule/);
  for (const one of [uuid, elsewhere.uuid]) await call("DELETE", `/alert/${one}`);
  await stage.supervisor.stop(stage.user, process);
});

test("a restart of the service applies no pending changes: processes keep their alerts", async () => {
  const { stage } = service;
  const { user, sourceUuid } = stage;
  const other = await openAlerts(database.sql, { user, sourceUuid, isAlone: false });
  const process = await other.stage.start();
  const { uuid } = await other.make(gate(countOf(1)));
  const oneOff = await other.make(gate(countOf(5)), process);
  await other.call("PATCH", `/alert/${uuid}`, countOf(2));
  await other.close();
  const next = await openAlerts(database.sql, { user, sourceUuid, isAlone: false });
  // Both servers may claim it.
  const isHeld = ({ supervisor }: typeof stage) => supervisor.held(process) !== null;
  const holder = await poll("a server holds it", () => [next.stage, stage].find(isHeld) ?? null);
  await holder.reach(process, "running");
  const { job } = await holder.inside(process);
  const rules = (job.live as { watch: { rules: { alert: string; trigger: { count: number } }[] } }).watch.rules;
  assert.deepEqual(
    rules.map(({ alert, trigger }) => [alert, trigger.count]),
    [
      [uuid, 1],
      [oneOff.uuid, 5],
    ],
  );
  const shown = (await next.call("GET", `/alert/${uuid}`)).body;
  assert.deepEqual([shown.trigger.count, shown.pending.trigger.count], [1, 2]);
  await holder.supervisor.stop(user, process);
  await next.close();
});

test("a webhook that answered 410 is used again after `output` is sent again or the alert is reactivated", async () => {
  const { call, make } = service;
  const { sql } = database;
  const { uuid } = await make(gate({ output: [{ type: "webhook", config: { url: "http://127.0.0.1:9/" } }] }));
  const [{ output: [row] = [] } = {}] = await sql<{ output?: { uuid: string }[] }[]>`
    select output from alerts where uuid = ${uuid}`;
  const isStopped = async () =>
    (await sql`select from destinations where uuid = ${row?.uuid ?? ""} and is_stopped`).length;
  const shown = (await call("GET", `/alert/${uuid}`)).body as AlertRecord;
  for (const changes of [[{ output: shown.output }], [{ status: "inactive" }, { status: "active" }]]) {
    await sql`update destinations set is_stopped = true where uuid = ${row?.uuid ?? ""}`;
    await call("PATCH", `/alert/${uuid}`, { alias: "other" });
    assert.equal(await isStopped(), 1);
    for (const change of changes) assert.equal((await call("PATCH", `/alert/${uuid}`, change)).status, 200);
    assert.equal(await isStopped(), 0);
  }
});

test("a notification that is stored while its outputs are replaced still reaches its receiver", async () => {
  const { stage, alerts, call, make } = service;
  const { sql } = database;
  const process = await stage.start();
  const { uuid } = await make();
  const { delivery } = alerts.deps;
  const patches: ReturnType<typeof call>[] = [];
  const isWaitedFor = async (): Promise<void> => {
    const waiting = () => sql`
      select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    while ((await waiting()).length === 0) await new Promise(setImmediate);
  };
  const writer = new AlertWriter({
    ...{ sql, log: silentLog },
    delivery: {
      wake() {},
      async enqueue(transaction, deliveries) {
        patches.push(call("PATCH", `/alert/${uuid}?force=true`, mqtt({ topic: "elsewhere" })));
        await Promise.race([...patches, isWaitedFor()]);
        await delivery.enqueue(transaction, deliveries);
      },
    },
  });
  const between = newUuid();
  writer.add(eventOf(process, uuid, between));
  await writer.batches.idle();
  assert.deepEqual(
    (await Promise.all(patches)).map(({ status }) => status),
    [200],
  );
  assert.equal((await sql`select from parcels where id = ${between}`).length, 1);
});

test("notifications that cannot be stored are queued in order; the oldest are dropped and counted; a bad one does not block the others", async () => {
  const { stage, make } = service;
  const process = await stage.start();
  const { uuid } = await make();
  let isUnreachable = true;
  const kept: string[] = [];
  const ids = Array.from({ length: 7 }, () => newUuid());
  const [bad = ""] = ids.slice(4);
  const writer = new AlertWriter({
    sql: database.sql,
    log: silentLog,
    limits: { queuedNotices: 5, batchNotices: 3 },
    delivery: {
      wake() {},
      async enqueue(_, parcels) {
        if (isUnreachable) throw new Error("the database is unavailable");
        if (parcels.some(({ id }) => id === bad)) throw Object.assign(new Error("a NUL in it"), { code: "22P05" });
        kept.push(...parcels.map(({ id }) => id));
      },
    },
  });
  const notified: string[] = [];
  for (const id of ids) writer.add(eventOf(process, uuid, id, notified));
  const waiting = writer.batches.idle();
  // One while it tries to store the first, which is lost when that fails.
  while (writer.numbers.lost < 2) await new Promise(setImmediate);
  isUnreachable = false;
  await waiting;
  assert.deepEqual([kept, notified, writer.numbers.lost], [[...ids.slice(2, 4), ...ids.slice(5)], kept, 3]);
});

test("evidence is a part of an alert: with defaults, pending without force, and null for none", async () => {
  const { stage, call } = service;
  const process = await stage.start();
  const clip = { before_seconds: 3 };
  const alert = await service.make(gate({ evidence: { clip, snapshot: true } }), process);
  const whole = { clip: { before_seconds: 3, after_seconds: 5, boxes: false }, snapshot: true };
  assert.deepEqual(alert.evidence, whole);
  const patch = async (body: object) => (await call("PATCH", `/alert/${alert.uuid}`, body)).body as AlertRecord;
  const waiting = await patch({ evidence: { snapshot: true } });
  assert.deepEqual([waiting.evidence, waiting.pending?.evidence], [whole, { snapshot: true }]);
  const forced = await patch({ force: true });
  assert.deepEqual([forced.evidence, forced.pending], [{ snapshot: true }, null]);
  // Other parts keep it.
  assert.deepEqual((await patch({ parameters: {}, force: true })).evidence, { snapshot: true });
  assert.equal((await patch({ evidence: null, force: true })).evidence, null);
  for (const evidence of [
    ...[{ clip: { before_seconds: 61 } }, { clip: { after_seconds: 301 } }, { clip: { boxes: 1 } }],
    ...[{ clip: { befor: 1 } }, { picture: true }],
  ])
    assert.equal((await call("PATCH", `/alert/${alert.uuid}`, { evidence })).status, 422, JSON.stringify(evidence));
  const { body } = await call("PATCH", `/alert/${alert.uuid}`, { evidense: null });
  assert.match(body.detail, /did you mean "evidence"/);
  await stage.supervisor.stop(stage.user, process);
});
