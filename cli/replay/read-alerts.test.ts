import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ALERT_TYPES } from "../../elements/alerts/types.ts";
import { formatFault } from "../../graphs/compiler/fault.ts";
import { makeFolder } from "../windhover.fixture.ts";
import { readAlerts, readSubscriptions } from "./read-alerts.ts";

const file = join(makeFolder(), "alerts.yaml");
const CLASSES = ["person", "car", "truck", "bus"];

function read(text: string) {
  writeFileSync(file, text);
  const { alerts, faults } = readAlerts(file, CLASSES);
  return { alerts, faults: faults.map(formatFault).map((fault) => fault.replace(`${file}:`, "")) };
}

const OUTPUT = "output: [{ type: mqtt, config: { host: broker, topic: site } }]";
const LINE = "region: { line: [[0.5, 0], [0.5, 1]] }";

test("examples of the types are taken as they are: alone, in a list, as JSON and as the service lists them", () => {
  for (const { example, name } of ALERT_TYPES) {
    const { alerts, faults } = read(JSON.stringify(example, null, "\t"));
    assert.deepEqual([faults, alerts[0]?.type], [[], name]);
  }
  const all = ALERT_TYPES.map(({ example }) => example);
  assert.equal(read(JSON.stringify(all)).alerts.length, ALERT_TYPES.length);
  const [record] = all.map((body, index) => ({
    ...body,
    uuid: `0192f000-0000-7000-8000-00000000000${index}`,
    created_at: "2026-11-14T09:00:00.000Z",
    pending: null,
    delivery: [],
    status: "inactive",
  }));
  const { alerts, faults } = read(JSON.stringify({ alerts: [record], next_cursor: "x" }));
  assert.deepEqual([faults, alerts[0]?.uuid, alerts[0]?.isActive], [[], record?.uuid, false]);
});

test("alerts without uuids have some that follow from their names, each its own", () => {
  const text = `- { alias: a, type: flow-control, ${LINE}, ${OUTPUT} }\n`;
  const [one, two, three] = read(`${text}${text}${text.replace("alias: a", "alias: b")}`).alerts;
  assert.equal(new Set([one?.uuid, two?.uuid, three?.uuid]).size, 3);
  assert.equal(read(text).alerts[0]?.uuid, one?.uuid);
});

test("secrets do not get any further than here", () => {
  const { alerts } = read(
    `{ alias: a, type: follow-track, output: [{ type: mqtt, config: { host: "mqtts://me:pw@broker", topic: t } }, { type: webhook, config: { url: "https://me:pw@a/?token=t" } }] }`,
  );
  assert.deepEqual(alerts[0]?.to, [
    { type: "mqtt", host: "mqtts://***@broker", topic: "t" },
    { type: "webhook", url: "https://***@a/?token=***" },
  ]);
});

for (const [text, ...wanted] of [
  ["# nothing\n", /^1:1: the document is empty \(expected a list of alerts\)$/],
  ["[]", /^1:1: the list of alerts is empty/],
  ["alerts: []", /the list of alerts is empty/],
  ["- 5", /^1:3: this is not a map of fields/],
  [
    "- alias: a\n  type: flow-controll\n",
    /^2:3: type "flow-controll" is not an alert type; .*did you mean "flow-control"\?/,
  ],
  ["- alias: a\n", /^1:3: type is missing; expected grid-density, flow-control/],
  [
    `- alias: a\n  type: flow-control\n  ${LINE}\n  trigger: { count: 1, cooldown_seconds: -1 }\n  ${OUTPUT}\n`,
    /^4:24: trigger\.cooldown_seconds is -1; expected a number/,
  ],
  [
    `alias: a\ntype: grid-density\nfilter:\n  class_names: [person, lorry, trcuk]\n${OUTPUT}\n`,
    /^4:25: filter\.class_names\[1\].*"lorry".*person, car, truck or bus/,
    /^4:32: filter\.class_names\[2\].*did you mean "truck"/,
  ],
  [
    `alias: a\ntype: grid-density\nregion:\n  polygon: [[0, 0], [1, 1], [1, 0], [0, 0.8]]\n${OUTPUT}\n`,
    /^4:3: region\.polygon crosses or touches itself/,
  ],
  [`alias: a\ntype: grid-density\nregion: { polygon: [[0, 0], [1, 1]] }\n${OUTPUT}\n`, /^3:11: region\.polygon /],
  [
    `alias: a\ntype: grid-density\ntriger: { count: 2 }\ntrigger: { cont: 2 }\n${OUTPUT}\n`,
    /^4:12: trigger\.cont .*count/,
  ],
  [
    "alias: a\ntype: follow-track\noutput: [{ type: mqtt, config: { host: 'http://b', topic: t } }]\n",
    /^3:34: output\[0\]\.config\.host begins with http/,
  ],
  ["- alias: [a\n", /YAML: /],
] as const)
  test(`${text.replaceAll("\n", "\\n")} is rejected with its position`, () => {
    const { alerts, faults } = read(text);
    assert.deepEqual(alerts, []);
    for (const [index, pattern] of wanted.entries()) assert.match(faults[index] ?? "", pattern);
    assert.equal(faults.length, wanted.length, faults.join("\n"));
  });

test("subscriptions are taken with their defaults, one for each type and address", () => {
  const one = "{ notification_url: 'https://me:pw@a/b', event_type: new-tracks }";
  writeFileSync(file, one);
  assert.deepEqual(readSubscriptions(file).subscribers, [
    { url: "https://***@a/b", rule: { eventType: "new-tracks", format: "simple", backoffMs: 5000 } },
  ]);
  writeFileSync(file, `- ${one}\n- ${one}\n- { notification_url: 'ftp://a', event_type: new-track }\n`);
  const faults = readSubscriptions(file).faults.map(formatFault).join("\n");
  assert.match(faults, /:2:3: there is already a subscription to new-tracks for this address/);
  assert.match(faults, /:3:5: notification_url is "ftp:\/\/a"; expected/);
  assert.match(faults, /:3:34: event_type is "new-track"; expected "new-tracks" or "target-count"/);
});
