import assert from "node:assert/strict";
import { test } from "node:test";
import type { AlertNotice } from "../../schemas/api/events.ts";
import type { StoredOutput } from "../store/alerts.ts";
import { writeBody } from "./outgoing.ts";

const track = (track_id: number) => ({
  ...{ track_id, class_id: 0, class_name: "person", confidence: 50 },
  ...{ bbox: [0, 0, 1, 1], scaled_bbox: [0, 0, 1, 1] },
});
const NOTICE = {
  ...{ id: "c70a", alert_uuid: "74f9", alias: "Gate", type: "flow-control", process_uuid: "01a1", source_uuid: "01a2" },
  ...{ timestamp: "2026-11-15T18:49:30.200Z", event: "triggered", tracks: [track(3)], data: {} },
} as unknown as AlertNotice;

const mailOf = (notice: object, config: { subject?: string; text?: string } = {}) => {
  const { subject = null, text = null } = config;
  const output: StoredOutput = { uuid: "u", type: "email", config: { to: ["a@b.example"], subject, text } };
  return JSON.parse(writeBody(output, { ...NOTICE, ...notice } as AlertNotice));
};

test("a mail says what happened, with links to evidence if there is some", () => {
  assert.deepEqual(mailOf({ snapshot_url: "https://w.example/s?sig=1", clip_url: "https://w.example/c" }), {
    ...{ timestamp: NOTICE.timestamp, subject: "Gate: triggered" },
    text: [
      ...["Gate (flow-control): triggered", `Time: ${NOTICE.timestamp}`, "Tracks: person 3"],
      ...["Picture: https://w.example/s?sig=1", "Clip: https://w.example/c", "Process: 01a1", "Notice: c70a"],
    ].join("\n"),
  });
  const crowd = mailOf({ tracks: Array.from({ length: 14 }, (_, at) => track(at)) });
  assert.match(crowd.text, /person 9 and 4 more\n/);
  assert.doesNotMatch(mailOf({ tracks: [] }).text, /Tracks|Picture|Clip/);
});

test("a subject is one line of limited length, and a text is bounded", () => {
  const config = { subject: "{{ data.note }} 🚗", text: "{{ data.note }}" };
  const { subject, text } = mailOf(
    { data: { note: `a\r\nBcc: b@c.example\u2028\u0000${"ü".repeat(30_000)}` } },
    config,
  );
  assert.equal(subject.length, 200);
  assert.match(subject, /^a {2}Bcc: b@c\.example {2}ü+$/);
  assert.equal(text.length, 16_384);
});

test("only webhooks with a template differ from the notice", () => {
  const config = { url: "https://a.example", secret: "whsec_x" };
  const plain: StoredOutput = { uuid: "u", type: "webhook", config };
  assert.deepEqual(JSON.parse(writeBody(plain, NOTICE)), NOTICE);
  const short: StoredOutput = { ...plain, config: { ...config, template: { body: '{"n": {{ tracks.length }}}' } } };
  assert.equal(writeBody(short, NOTICE), '{"n": 1}');
});
