/** Mails, templates and schedules through the API: the outputs of docs/alerts.md, sent to real servers of the test. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { parse } from "yaml";
import type { JsonRecord } from "../../schemas/json.ts";
import { type AlertsService, gate, openAlerts } from "../alerts/alerts.fixture.ts";
import { openReceiver, status } from "../delivery/receiver.fixture.ts";
import { openMailBox } from "../delivery/smtp.fixture.ts";
import { type TestDatabase, testDatabase } from "../store/database.fixture.ts";
import { eventually } from "../streams/streams.fixture.ts";

// biome-ignore lint/suspicious/noExplicitAny: bodies of other services.
type Body = any;

let database: TestDatabase;
let service: AlertsService;
const PATHS = ["slack", "teams", "telegram", "ntfy"];
// Here and not in `before`, with whose end they would be closed.
const box = await openMailBox({ hasTls: false });
const receiver = await openReceiver(Object.fromEntries(PATHS.map((path) => [`/${path}`, status(200)])));

before(async () => {
  database = await testDatabase();
  service = await openAlerts(
    database.sql,
    {},
    {
      ...{ SMTP_URL: `smtp://localhost:${box.port}`, SMTP_FROM: "alerts@example.org", SMTP_STARTTLS: "offered" },
      SMTP_DOMAINS: "example.org",
    },
  );
});
after(async () => {
  await service?.close();
  await database?.close();
});

const page = readFileSync(new URL("../../docs/alerts.md", import.meta.url), "utf8");
/** The block below this comment. */
const blockOf = (remark: string): string =>
  page
    .split(`<!-- ${remark} -->\n`)[1]
    ?.split("```")[1]
    ?.replace(/^\w+\n/, "") ?? assert.fail(remark);
const outputs = parse(blockOf("destinations")) as Readonly<Record<string, { type: string; config: JsonRecord }>>;

test("the destinations of the page get what their services expect", async () => {
  const { stage, make, call } = service;
  const process = await stage.start({ finds: 1 });
  const output = Object.entries(outputs).map(([name, { type, config }]) => ({
    ...{ type, config: type === "webhook" ? { ...config, url: `${receiver.url}/${name}` } : config },
  }));
  const alert = await make(gate({ alias: 'Gate "7" north', output }), process);
  await eventually(
    () => box.received.length > 0 && PATHS.every((path) => receiver.at(`/${path}`).length > 0),
    "all have one",
  );
  // Many may have followed on a busy machine.
  const { notices } = (await call("GET", `/notices?alert=${alert.uuid}&limit=1000`)).body;
  const first = (path: string) => receiver.at(`/${path}`)[0] ?? assert.fail(path);
  const json = (path: string): Body => JSON.parse(first(path).body);
  const id = String(first("slack").headers["webhook-id"]);
  const { timestamp } = notices.find((notice: Body) => notice.uuid === id) ?? assert.fail("it is in the history");
  // api.slack.com/messaging/webhooks: an object with `text`.
  assert.deepEqual(json("slack"), { text: `*${alert.alias}*: triggered at ${timestamp} ` });
  // A message with an Adaptive Card, as the workflows of Teams take it.
  const card = json("teams");
  assert.deepEqual([card.type, card.attachments.length], ["message", 1]);
  assert.equal(card.attachments[0].contentType, "application/vnd.microsoft.card.adaptive");
  const { type, version, body } = card.attachments[0].content;
  assert.deepEqual([type, version, body[0].type, body[0].text], ["AdaptiveCard", "1.4", "TextBlock", alert.alias]);
  // core.telegram.org/bots/api#sendmessage
  assert.deepEqual(json("telegram"), { chat_id: "-1001234567890", text: `${alert.alias}: triggered\nno clip` });
  // docs.ntfy.sh/publish: the body is the message.
  const { headers, body: message } = first("ntfy");
  assert.deepEqual([headers.title, headers.priority, headers.tags], ["Alert", "high", "rotating_light"]);
  assert.deepEqual([headers.authorization, headers["content-type"]], ["Bearer tk_XXXX", "text/plain; charset=utf-8"]);
  assert.match(message, /^Gate "7" north: \w+ \(triggered, 20/);
  for (const path of PATHS) assert.match(String(first(path).headers["webhook-signature"]), /^v1,/);
  const [mail] = box.received;
  assert.deepEqual(mail?.to, ["guard@example.org", "night-shift@example.org"]);
  assert.match(mail?.headers.get("subject") ?? "", /^(?:\(\d+\) )?Gate "7" north: \d+ tracks$/);
  assert.match(
    mail?.text ?? "",
    /^Gate "7" north \(flow-control\): triggered\nTime: 20.*\n(?:Tracks: .*\n)?Process: /m,
  );
  await stage.supervisor.stopAll(stage.user);
});

test("a preview shows what each destination would get; it rejects what an alert would be rejected for, and sends nothing", async () => {
  const { call } = service;
  const output = Object.entries(outputs).map(([name, { type, config }]) => ({
    ...{ type, config: type === "webhook" ? { ...config, url: `${receiver.url}/preview/${name}` } : config },
  }));
  const broker = { type: "mqtt", config: { host: "nowhere.invalid", topic: "a" } };
  const evidence = { clip: {}, snapshot: false };
  const ask = { alias: 'Gate "7"', type: "flow-control", output: [...output, broker], evidence };
  const { status: code, body } = await call("POST", "/alert_preview", ask);
  assert.equal(code, 200);
  const [mail, slack, teams, telegram, ntfy, mqtt] = body.previews;
  assert.deepEqual([mail.type, mail.content_type, mail.subject], ["email", "text/plain", 'Gate "7": 1 tracks']);
  assert.match(mail.body, /^Gate "7" \(flow-control\): triggered\nTime: .*\nTracks: person 7\nClip: https:/);
  assert.match(JSON.parse(slack.body).text, /^\*Gate "7"\*: triggered at 20.* $/);
  assert.deepEqual([slack.content_type, slack.subject], ["application/json", null]);
  assert.equal(JSON.parse(teams.body).attachments.length, 1);
  assert.match(JSON.parse(telegram.body).text, /^Gate "7": triggered\nhttps:.*clip/);
  assert.match(ntfy.body, /^Gate "7": person \(triggered, 20/);
  assert.equal(ntfy.content_type, "text/plain");
  const notice = JSON.parse(mqtt.body);
  assert.deepEqual([notice.alias, notice.type, notice.snapshot_url], ['Gate "7"', "flow-control", undefined]);
  const wrong = { type: "webhook", config: { ...WEBHOOK, template: { body: "{{ evnt }}", headers: { Host: "x" } } } };
  const rejected = await call("POST", "/alert_preview", { output: [output[0], wrong] });
  assert.equal(rejected.status, 422);
  assert.deepEqual(
    rejected.body.errors.map(({ path }: { path: string }) => path),
    ["/output/1/config/template/body", "/output/1/config/template/headers/Host"],
  );
  assert.equal((await call("POST", "/alert_preview", { output: [], type: "flow" })).body.errors[0].path, "/type");
  assert.deepEqual((await call("POST", "/alert_preview", { output: [] })).body, { previews: [] });
  for (const path of PATHS) assert.equal(receiver.at(`/preview/${path}`).length, 0);
});

test("secret headers are masked, kept for the same URL, and never sent to another", async () => {
  const { make, call } = service;
  const url = `${receiver.url}/ntfy`;
  const template = {
    body: "{{ event }}",
    content_type: "text/plain",
    headers: { Title: "Alert", authorization: "Bearer hunter9" },
  };
  const { uuid, output } = await make(gate({ output: [{ type: "webhook", config: { url, template } }] }));
  const masked = { ...template, headers: { Title: "Alert", authorization: "***" } };
  assert.deepEqual(output[0]?.config.template, masked);
  const change = (config: object) => call("PATCH", `/alert/${uuid}`, { output: [{ type: "webhook", config }] });
  assert.equal((await change({ url, template: { ...masked, body: "changed {{ event }}" } })).status, 200);
  const [row] = await database.sql<{ output: readonly { config: { template: Body } }[] }[]>`
    select output from alerts where uuid = ${uuid}`;
  assert.deepEqual(
    [row?.output[0]?.config.template.headers.authorization, row?.output[0]?.config.template.body],
    ["Bearer hunter9", "changed {{ event }}"],
  );
  const { status: code, body } = await change({ url: `${receiver.url}/slack`, template: masked });
  assert.deepEqual([code, body.errors[0].path], [422, "/output/0/config/template/headers/authorization"]);
  assert.doesNotMatch(JSON.stringify((await call("GET", `/alert/${uuid}`)).body), /hunter9/);
  assert.equal((await call("DELETE", `/alert/${uuid}`)).status, 200);
});

const WEBHOOK = { url: "http://127.0.0.1:9/a" };
const REJECTED: readonly [why: string, body: object, path: string, message: RegExp][] = [
  [
    "an unknown name",
    { type: "webhook", config: { ...WEBHOOK, template: { body: '{"a": "{{ alert.alis }}"}' } } },
    "template/body",
    /line 1, column 8.*did you mean "alert.alias"/,
  ],
  [
    "a template that is not JSON",
    { type: "webhook", config: { ...WEBHOOK, template: { body: "{{ event }}!" } } },
    "template/body",
    /is not valid JSON/,
  ],
  [
    "a header of the signature",
    { type: "webhook", config: { ...WEBHOOK, template: { body: "1", headers: { "webhook-id": "x" } } } },
    "template/headers/webhook-id",
    /cannot be set; expected one of Authorization/,
  ],
  [
    "a hop-by-hop header",
    { type: "webhook", config: { ...WEBHOOK, template: { body: "1", headers: { Connection: "x" } } } },
    "template/headers/Connection",
    /cannot be set/,
  ],
  [
    "a misspelt header",
    { type: "webhook", config: { ...WEBHOOK, template: { body: "1", headers: { Titel: "x" } } } },
    "template/headers/Titel",
    /did you mean "Title"/,
  ],
  [
    "a header twice",
    { type: "webhook", config: { ...WEBHOOK, template: { body: "1", headers: { Title: "x", title: "y" } } } },
    "template/headers/title",
    /is there twice/,
  ],
  [
    "a header with a line break",
    { type: "webhook", config: { ...WEBHOOK, template: { body: "1", headers: { Title: "x\r\nA: b" } } } },
    "template/headers/Title",
    /./,
  ],
  [
    "an address with a line break",
    { type: "email", config: { to: ["a@example.org\r\nBcc: b@example.org"] } },
    "to/0",
    /./,
  ],
  ["an address with a name", { type: "email", config: { to: ["Ada <a@example.org>"] } }, "to/0", /./],
  ["an address twice", { type: "email", config: { to: ["a@example.org", "A@example.org"] } }, "to/1", /is there twice/],
  ["another domain", { type: "email", config: { to: ["a@example.net"] } }, "to/0", /not in a domain .*\(example.org\)/],
  [
    "an unknown name in a mail",
    { type: "email", config: { to: ["a@example.org"], subject: "{{ tracks.0.clas_name }}" } },
    "subject",
    /did you mean "tracks.0.class_name"/,
  ],
];
for (const [why, output, path, message] of REJECTED)
  test(`POST /alert rejects ${why}`, async () => {
    const { status: code, body } = await service.call("POST", "/alert", gate({ output: [output] }));
    assert.equal(code, 422, JSON.stringify(body));
    assert.equal(body.errors[0].path, `/output/0/config/${path}`);
    assert.match(body.errors[0].message, message);
  });

test("a schedule is stored, shown, passed to the runner, changed at once and removed", async () => {
  const { stage, call, make } = service;
  const { schedule } = JSON.parse(blockOf("schedule")) as { schedule: Body };
  const process = await stage.start({}, {});
  const made = await make(gate({ schedule }));
  assert.deepEqual(made.schedule, schedule);
  const ruleOf = async () => {
    const { live } = await stage.inside(process);
    const { rules } = live.watch as unknown as { readonly rules: readonly Body[] };
    return rules.find(({ alert }) => alert === made.uuid)?.schedule;
  };
  assert.deepEqual(await ruleOf(), schedule);
  const changed = { time_zone: "UTC", windows: [{ from: "08:00", to: "17:00" }] };
  const { body } = await call("PATCH", `/alert/${made.uuid}`, { schedule: changed });
  assert.deepEqual([body.schedule, body.pending], [changed, null]);
  assert.deepEqual(await ruleOf(), changed);
  // Other changes keep it.
  assert.deepEqual((await call("PATCH", `/alert/${made.uuid}`, { alias: "other" })).body.schedule, changed);
  assert.deepEqual((await call("GET", "/alerts")).body.alerts[0].schedule, changed);
  assert.equal((await call("PATCH", `/alert/${made.uuid}`, { schedule: null })).body.schedule, null);
  assert.equal(await ruleOf(), undefined);
  const wrong = { time_zone: "Berlin", windows: [{ from: "8:00", to: "17:00" }] };
  const shape = (await call("POST", "/alert", gate({ schedule: wrong }))).body;
  assert.equal(shape.errors[0].path, "/schedule/windows/0/from");
  const zone = (await call("POST", "/alert", gate({ schedule: { ...changed, time_zone: "Berlin" } }))).body;
  assert.equal(zone.errors[0].path, "/schedule/time_zone");
  assert.match(zone.errors[0].message, /did you mean "Europe\/Berlin"/);
  assert.match((await call("PATCH", `/alert/${made.uuid}`, { schedul: null })).body.detail, /did you mean "schedule"/);
  await stage.supervisor.stopAll(stage.user);
});
