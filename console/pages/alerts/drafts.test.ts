import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { parse } from "yaml";
import type { Alert } from "../../../client/client.ts";
import { choosePreset, newDraft, toDraft, toOutput, toOutputs, toSample } from "./destination-draft.ts";
import { PRESETS } from "./presets.ts";
import { toEvidence, toEvidenceDraft, toSchedule, toScheduleDraft } from "./setting-drafts.ts";

interface Documented {
  readonly config: {
    readonly url: string;
    readonly template: { readonly body: string; readonly content_type?: string; readonly headers?: object };
  };
}

test("the presets are those of the documentation", () => {
  const page = readFileSync(new URL("../../../docs/alerts.md", import.meta.url), "utf8");
  const block = page.split("<!-- destinations -->\n```yaml\n")[1]?.split("```")[0] ?? assert.fail("no destinations");
  const { email, ...documented } = parse(block) as Record<string, Documented>;
  assert.ok(email !== undefined);
  assert.deepEqual(Object.keys(PRESETS), Object.keys(documented));
  for (const [name, { config }] of Object.entries(documented)) {
    const { url, body, contentType, headers } = PRESETS[name] ?? assert.fail(name);
    const { content_type = "application/json", headers: shown = {}, body: text } = config.template;
    assert.deepEqual([url, contentType, headers], [config.url, content_type, shown]);
    // YAML has it on one line.
    assert.equal(body.replaceAll("\n", " "), text.trimEnd());
  }
});

test("an output that is shown and not changed is sent as it was, with its secrets masked", () => {
  const template = {
    body: "{{ event }}",
    content_type: "text/plain",
    headers: { Title: "a: b", Authorization: "***" },
  };
  const outputs = [
    { type: "email", config: { to: ["a@example.org", "b@example.org"], subject: "{{ alert.alias }}" } },
    { type: "webhook", config: { url: "https://user:***@example.org/x", secret: "***", template } },
    { type: "webhook", config: { url: "https://example.org/y", secret: "***" } },
    { type: "mqtt", config: { host: "broker:1883", topic: "a", qos: 2, username: "u", password: "***" } },
    { type: "mqtt", config: { host: "broker", topic: "b", qos: 1 } },
  ] as unknown as Alert["output"];
  assert.deepEqual(toOutputs(outputs.map(toDraft)), outputs);
});

test("a webhook with another URL gets a secret of its own", () => {
  const draft = toDraft({ type: "webhook", config: { url: "https://example.org/y", secret: "***" } });
  assert.deepEqual(toOutput({ ...draft, url: " https://example.org/z " }, 0).config, { url: "https://example.org/z" });
});

test("a preset fills body, format and headers; the plain form sends none of them", () => {
  const draft = choosePreset({ ...newDraft(), type: "webhook", url: "https://ntfy.sh/x" }, "ntfy");
  const { url: _, body, contentType: content_type, headers } = PRESETS.ntfy ?? assert.fail();
  assert.deepEqual(toOutput(draft, 0).config, { url: "https://ntfy.sh/x", template: { body, content_type, headers } });
  assert.deepEqual(toOutput(choosePreset(draft, "json"), 0).config, { url: "https://ntfy.sh/x" });
  assert.deepEqual(toSample({ ...draft, url: "nothing yet" }).config, {
    ...{ url: "https://example.org/", template: { body, content_type, headers } },
  });
});

test("headers that cannot be read are reported at their field", () => {
  const draft = { ...choosePreset({ ...newDraft(), type: "webhook" as const }, "own"), headers: "Title: x\nBearer" };
  assert.throws(
    () => toOutput(draft, 3),
    ({ errors: [fault] }: { errors: { path: string; message: string }[] }) =>
      fault?.path === "/output/3/config/template/headers" && fault.message.includes('"Bearer"'),
  );
});

test("a schedule is sent as it was shown; a day ends at 24:00", () => {
  const schedule = {
    time_zone: "Europe/Berlin",
    windows: [
      { days: ["mon" as const, "fri" as const], from: "22:00", to: "06:00" },
      { from: "00:00", to: "24:00" },
    ],
  };
  assert.deepEqual(toSchedule(toScheduleDraft(schedule)), schedule);
  assert.equal(toSchedule(toScheduleDraft(null)), null);
  assert.notEqual(toScheduleDraft(null).timeZone, "");
});

test("evidence is sent as it was shown, and null without any", () => {
  for (const evidence of [
    { clip: { before_seconds: 20, after_seconds: 0.5, boxes: true }, snapshot: false },
    { clip: { before_seconds: 10, after_seconds: 5, boxes: false }, snapshot: true },
    { snapshot: true },
    null,
  ])
    assert.deepEqual(toEvidence(toEvidenceDraft(evidence)), evidence);
});
