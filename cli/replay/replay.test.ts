import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { AlertNotice } from "../../schemas/api/events.ts";
import { NewTracksNotification, TargetCountNotification } from "../../schemas/api/webhooks.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { checkBy } from "../../server/validation.ts";
import { record, withoutModel } from "../../test/golden/golden.fixture.ts";
import { paintStreet } from "../../test/golden/street.fixture.ts";
import { makeFolder } from "../windhover.fixture.ts";
import { runCommand, START_MS, toLines, walk } from "./replay.fixture.ts";
import { NO_UUID } from "./sending.ts";

// Before any await: `after` hooks registered earlier may already have run, and removed the folder.
const lack = await withoutModel("default");
const folder = makeFolder();
const at = (name: string): string => join(folder, name);
const put = (name: string, text: string): string => {
  writeFileSync(at(name), text);
  return at(name);
};

const seen = put("seen.ndjson", toLines(walk()));
const OUTPUT = "output: [{ type: mqtt, config: { host: 'mqtt://me:pw@broker', topic: site } }]";
const alerts = put(
  "alerts.yaml",
  `
- alias: the middle
  type: flow-control
  region: { line: [[0.5, 1], [0.5, 0]] }
  ${OUTPUT}
- alias: who stays
  type: filter-search
  region: { polygon: [[0.6, 0.8], [0.8, 0.8], [0.8, 1], [0.6, 1]] }
  trigger: { for_seconds: 2 }
  filter: { class_names: [person] }
  ${OUTPUT}
- alias: both
  type: grid-density
  parameters: { rows: 1, columns: 1 }
  trigger: { count: 2, for_seconds: 1 }
  ${OUTPUT}
- alias: asleep
  status: inactive
  type: follow-track
  ${OUTPUT}
`,
);
const hooks = put(
  "hooks.json",
  JSON.stringify({
    subscriptions: ["new-tracks", "target-count"].map((event_type) => ({
      ...{ notification_url: "https://me:pw@hooks.example/a", event_type, notification_format: "full" },
    })),
  }),
);
const bodies = [AlertNotice, NewTracksNotification, TargetCountNotification].map(checkBy);

test("an alert with a schedule notifies only within its windows, by the times of the messages", async () => {
  const open = new Date(START_MS).toISOString().slice(11, 16);
  const closed = new Date(START_MS + 3_600_000).toISOString().slice(11, 16);
  const scheduled = (from: string, to: string) => `
- alias: ${from} to ${to}
  type: filter-search
  schedule: { time_zone: UTC, windows: [{ from: "${from}", to: "${to}" }] }
  output: [{ type: email, config: { to: [guard@example.org] } }]`;
  const file = put("scheduled.yaml", scheduled(open, closed) + scheduled(closed, open));
  const { code, lines, err } = await runCommand(["--from", seen, "--alerts", file]);
  assert.equal(code, 0, err);
  assert.deepEqual([...new Set(lines.map(({ alert }) => alert))], [`${open} to ${closed}`]);
  assert.deepEqual(lines[0]?.to, [{ type: "email", to: ["guard@example.org"] }]);
  const wrong = put("wrong.yaml", scheduled(open, closed).replace("UTC", "Europe/Berln"));
  const fault = await runCommand(["--from", seen, "--alerts", wrong]);
  assert.match(fault.err, /wrong\.yaml:4:.*schedule\.time_zone .*did you mean "Europe\/Berlin"/);
});

test("replays recorded messages: every alert and subscription notifies its destinations at the right time", async () => {
  const { code, lines, err } = await runCommand(["--from", seen, "--alerts", alerts, "--subscriptions", hooks]);
  assert.equal(code, 0, err);
  const sent = lines.map(({ clip_seconds, alert, subscription, body }) => [
    clip_seconds,
    alert ?? subscription,
    body.event ?? body.track_count,
    body.tracks?.map(({ track_id }) => track_id),
  ]);
  assert.deepEqual(sent, [
    [0, "new-tracks", 1, [1]],
    [0, "target-count", 1, undefined],
    [4, "both", "triggered", [1, 2]],
    [5, "who stays", "triggered", [2]],
    [5, "new-tracks", 1, [2]],
    [5, "target-count", 2, undefined],
    [5.1, "the middle", "triggered", [1]],
  ]);
  for (const { body } of lines)
    assert.ok(
      bodies.some((check) => check(body).length === 0),
      JSON.stringify(body),
    );
  const [webhook, mqtt] = [lines[0], lines[2]];
  assert.deepEqual(webhook?.to, [{ type: "webhook", url: "https://***@hooks.example/a" }]);
  assert.deepEqual(mqtt?.to, [{ type: "mqtt", host: "mqtt://***@broker", topic: "site" }]);
  assert.equal(mqtt?.body.timestamp, new Date(START_MS + 4000).toISOString());
  assert.deepEqual(mqtt?.body.tracks, walk()[40]?.active_tracks);
  assert.match(err, /"asleep" is inactive and was skipped/);
  assert.match(err, /^the middle +1 +0 +0 +0:05\.10 +0:05\.10 +mqtt:\/\/\*\*\*@broker site$/m);
  assert.match(err, /^0:09\.9 in .* × real time\. 7 notifications would have been sent\.$/m);
});

test("two replays give the same bytes, on standard output and in a file", async () => {
  const words = ["--from", seen, "--alerts", alerts, "--subscriptions", hooks, "--json", "--out", at("sent.ndjson")];
  const [one, two] = [await runCommand(words), await runCommand(words)];
  assert.equal(one.out, two.out);
  assert.equal(readFileSync(at("sent.ndjson"), "utf8"), one.out);
  assert.equal(new Set(one.lines.flatMap(({ body }) => body.id ?? [])).size, 3);
  const summary = JSON.parse(one.err.split("\n").at(-2) ?? "");
  assert.deepEqual(
    [summary.type, summary.would_have_sent, summary.clip_seconds, summary.tracks, summary.rows.length],
    ["summary", 7, 9.9, { person: 2 }, 5],
  );
});

test("on a screen there is a timeline with a table below, and a picture on request", async () => {
  const words = ["--from", seen, "--alerts", alerts, "--svg", at("when.svg")];
  const { code, out } = await runCommand(words, true);
  assert.equal(code, 0);
  const [first, second, third, empty, heads] = out.split("\n");
  assert.match(first ?? "", /^ {2}0:04\.00 {2}both +triggered +person 1, person 2 +rows 1, columns 1/);
  assert.match(second ?? "", /^ {2}0:05\.00 {2}who stays +triggered +person 2 +track_id 2/);
  assert.match(third ?? "", /^ {2}0:05\.10 {2}the middle +triggered +person 1/);
  assert.equal(empty, "");
  assert.match(heads ?? "", /^alert +triggered +updated +cleared +first +last +destination$/);
  const svg = readFileSync(at("when.svg"), "utf8");
  assert.equal(svg.match(/<title>triggered, 2026-11-14T09:00:0/g)?.length, 3);
  assert.ok(!svg.includes("NaN"));
});

test("explains why nothing would have been sent", async () => {
  const cars = put("cars.yaml", `{ alias: cars, type: filter-search, filter: { class_names: [car] }, ${OUTPUT} }`);
  const { code, out, err } = await runCommand(["--from", seen, "--alerts", cars]);
  assert.deepEqual([code, out], [0, ""]);
  assert.match(err, /Nothing would have been sent\. There were 2 tracks in 100 frames: 2 person\. Check the classes/);
});

const refusals: readonly (readonly [words: readonly string[], code: number, message: RegExp])[] = [
  [["clip.mp4"], 2, /missing: --alerts FILE, --subscriptions FILE, or both/],
  [["--alerts", alerts], 2, /missing: the CLIP, or --from FILE/],
  [["--alerts", alerts, "rtsp://camera/a"], 2, /expected a file: only recordings can be replayed/],
  [["--alerts", alerts, at("none.mp4")], 1, /there is no file .*none\.mp4/],
  [["--alerts", at("alert.yaml"), "--from", seen], 1, /there is no file .*alert\.yaml; did you mean "alerts\.yaml"/],
  [["--alerts", alerts, "--from", seen, "clip.mp4"], 2, /unexpected argument "clip\.mp4": --from .* replaces CLIP/],
  [["--alerts", alerts, "--from", seen, "every=2"], 2, /every=… is a parameter of a graph, and --from runs none/],
  [["--alerts", alerts, "--from", seen, "--patches", "p"], 2, /--patches needs CLIP: recorded messages have no images/],
  [["--alerts", alerts, "--from", seen, "--start-at", "2026-11-14T09:00:00Z"], 2, /--start-at needs CLIP/],
  [
    ["--alerts", alerts, seen, "--start-at", "yesterday"],
    2,
    /--start-at is "yesterday"; expected a time since 1970 with its/,
  ],
  [
    ["--alerts", alerts, seen, "--graph", "demo"],
    2,
    /--alerts needs the element `alerts`, and the graph "demo" has none/,
  ],
  [["--alerts", alerts, seen, "confidence=2"], 2, /confidence=2: .*a number from 0 to 1 or null/],
  [["--alerts", alerts, "--from", seen, "--out", at("no/a.ndjson")], 1, /there is no folder .*no; create it first/],
  [["--alerts", hooks, "--from", seen], 2, /hooks\.json:1:1: type is missing; expected grid-density/],
];
for (const [words, code, message] of refusals)
  test(`${words.map((word) => word.replace(folder, "")).join(" ")} is rejected with a hint`, async () => {
    const { code: found, out, err } = await runCommand(words);
    assert.deepEqual([found, out], [code, ""], err);
    assert.match(err, message);
  });

describe("a clip", { skip: lack }, () => {
  test("gives the same bytes as the messages that were recorded of it another time", async () => {
    const clip = at("street.y4m");
    paintStreet(clip, 8);
    const things = put(
      "things.yaml",
      `
- alias: sign
  type: filter-search
  filter: { class_names: [stop sign] }
  trigger: { for_seconds: 0.2 }
  ${OUTPUT}
- alias: things
  type: grid-density
  parameters: { rows: 2, columns: 2 }
  trigger: { count: 1, for_seconds: 0.1 }
  ${OUTPUT}
- alias: lost
  type: filter-search
  filter: { class_names: [person] }
  ${OUTPUT}
`,
    );
    const classes = "stop sign,clock,car";
    const order = ["--alerts", things, "--subscriptions", hooks, "--json"];
    const words = [clip, `classes=${classes}`, ...order, "--start-at", "2026-11-14T10:00:00+01:00"];
    const one = await runCommand([...words, "--patches", at("patches")]);
    assert.equal(one.code, 0, one.err);
    assert.match(one.err, /"alert":"lost","missed":\["person"\]/);
    const sign = one.lines.find(({ alert }) => alert === "sign");
    assert.equal(sign?.body.timestamp, "2026-11-14T09:00:00.200Z");
    for (const name of ["things", "new-tracks", "target-count"])
      assert.ok(
        one.lines.some(({ alert, subscription }) => [alert, subscription].includes(name)),
        name,
      );
    const [picture] = readdirSync(at("patches"));
    assert.match(picture ?? "", /^0001-sign-track-\d\.jpg$/);
    assert.deepEqual([...readFileSync(at(`patches/${picture}`)).subarray(0, 2)], [0xff, 0xd8]);
    assert.ok(one.out.includes(`"patch":{"file":"${picture}",`));
    const { said } = await record(clip, { params: { classes } });
    const { out } = await runCommand([
      "--from",
      put("street.ndjson", toLines(said.map(({ message }) => later(message)))),
      ...order,
    ]);
    assert.equal(out, one.out.replace(/"patch":\{[^}]*\}/, '"patch":null'));
  });
});

/** With what a golden leaves out, and by the time of the clip. */
const later = (message: JsonRecord): object => ({
  ...message,
  source_uri: "",
  process_uuid: NO_UUID,
  timestamp: new Date(START_MS + Date.parse(String(message.timestamp))).toISOString(),
});
