import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { AlertNotice } from "../../schemas/api/events.ts";
import { anyCharacter } from "../../test/any-character.fixture.ts";
import { parseTemplate, renderTemplate, type TemplateFormat } from "./template.ts";

const TRACK = {
  ...{ track_id: 3, class_id: 0, class_name: "person", confidence: 33.23 },
  ...{ bbox: [370.96, 191.25, 36.24, 80.34], scaled_bbox: [0.48, 0.33, 0.04, 0.13] },
  values: { kmh: 43.2, lane: "left", unknown: null },
};
const NOTICE = {
  ...{ id: "c70a", alert_uuid: "74f9", alias: 'Gate "north" \\ 1\nä', type: "flow-control", process_uuid: "01a1" },
  ...{ source_uuid: "01a2", timestamp: "2026-11-15T18:49:30.200Z", event: "triggered", tracks: [TRACK] },
  data: { count: 2, crossings: [{ direction: "backward" }], none: null },
  snapshot_url: "https://example.org/s?a=1&b=2",
} as unknown as AlertNotice;

function render(text: string, format: TemplateFormat, notice = NOTICE): string {
  const template = parseTemplate(text, format);
  assert.ok(typeof template === "object", String(template));
  return renderTemplate(template, notice);
}

test("fills values into a text, as they are", () => {
  assert.equal(
    render("{{ alert.alias }}|{{alias}}|{{ event }}|{{ tracks.0.class_name }} {{ tracks.0.bbox.2 }}", "text"),
    `${NOTICE.alias}|${NOTICE.alias}|triggered|person 36.24`,
  );
  assert.equal(
    render("{{ tracks.length }} {{ data.count }} {{ data.crossings }}", "text"),
    '1 2 [{"direction":"backward"}]',
  );
  assert.equal(
    render("{{ alert.uuid }} {{ alert.type }} {{ snapshot_url }}", "text"),
    `74f9 flow-control ${"https://example.org/s?a=1&b=2"}`,
  );
});

test("fills in values that the graph computes for a track", () => {
  assert.equal(
    render('{{ tracks.0.values.kmh }} {{ tracks.0.values.lane }} {{ tracks.0.values.unknown | default: "?" }}', "text"),
    "43.2 left ?",
  );
  assert.equal(render('{{ tracks.0.values.constructor | default: "none" }}', "text"), "none");
  assert.deepEqual(JSON.parse(render('{"all": {{ tracks.0.values }}}', "json")), { all: TRACK.values });
});

test("what is missing is empty, or the default", () => {
  assert.equal(render('<{{ clip_url }}> <{{ clip_url | default: "no clip" }}>', "text"), "<> <no clip>");
  assert.equal(render('{{ tracks.7.class_name | default: "-" }}{{ data.none | default: "0" }}', "text"), "-0");
  assert.equal(
    render('{"a": {{ clip_url }}, "b": {{ clip_url | default: "x\\y" }}, "c": "{{ clip_url }}"}', "json"),
    '{"a": null, "b": "x\\\\y", "c": ""}',
  );
});

test("values in JSON are escaped within strings, and JSON elsewhere", () => {
  const text =
    '{"text": "now: {{ alias }}", "n": {{ tracks.length }}, "all": {{ tracks }}, "deep": {"x": {{ data.count }}}}';
  assert.deepEqual(JSON.parse(render(text, "json")), {
    ...{ text: `now: ${NOTICE.alias}`, n: 1, all: [TRACK], deep: { x: 2 } },
  });
});

test("no value can change the structure of JSON", () => {
  const text = '{"{{ alias }}": ["a\\\\{{ alias }}\\n{{ data.x }}", {{ alias }}, {{ data.x }}]}';
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), fc.jsonValue(), (alias, x) => {
      const read = JSON.parse(render(text, "json", { ...NOTICE, alias, data: { x } } as AlertNotice));
      const [[key, [first, second, third]]] = Object.entries(read) as unknown as [[string, unknown[]]];
      const shown = x === null ? "" : typeof x === "object" ? JSON.stringify(x) : String(x);
      assert.equal(key, alias);
      assert.deepEqual([first, second], [`a\\${alias}\n${shown}`, alias]);
      assert.equal(JSON.stringify(third), JSON.stringify(x));
    }),
  );
});

const WRONG: readonly [text: string, format: TemplateFormat, message: RegExp][] = [
  ["{{ alert.alis }}", "text", /^line 1, column 1: "alert.alis" is not a value .*did you mean "alert.alias"\?$/],
  ["a\n bc{{ evnt }}", "text", /^line 2, column 4: .*did you mean "event"\?$/],
  ["{{ tracks.4.clas_name }}", "text", /did you mean "tracks.4.class_name"\?$/],
  ["{{ tracks.0.bbox.4 }}", "text", /is not a value/],
  ["{{ tracks.0.values.kmh.more }}", "text", /is not a value/],
  ["{{ tracks.0.class_name.length }}", "text", /is not a value/],
  ["{{ constructor }}", "text", /is not a value/],
  ["{{ __proto__.x }}", "text", /is not a value/],
  ["{{ data..x }}", "text", /is not a value/],
  ["{{ alias | upper }}", "text", /cannot be read; expected \{\{ name \}\}/],
  ["{{ alias", "text", /^line 1, column 1: "\{\{" has no matching/],
  ["{{#if x}}", "text", /cannot be read/],
  ['{"a": }', "json", /^is not valid JSON: /],
  ["hello {{ alias }}", "json", /is not valid JSON: .*text\/plain$/],
  ["{ {{ alias }}: 1 }", "json", /is not valid JSON/],
  ['{"a": "\\{{ alias }}"}', "json", /is not valid JSON/],
  ['{"a": "\\u00{{ alias }}"}', "json", /is not valid JSON/],
  ["{{ alias }}".repeat(101), "text", /more than 100 placeholders/],
];
for (const [text, format, message] of WRONG)
  test(`rejects ${JSON.stringify(text.slice(0, 30))} as ${format}`, () => {
    assert.match(String(parseTemplate(text, format)), message);
  });

test("reads nothing but the notice, and not more than fits", () => {
  assert.equal(render("{{ data.constructor }}{{ data.toString }}{{ data.count.constructor }}", "text"), "");
  const image = "x".repeat(200_000);
  const large = { ...NOTICE, data: { image } } as AlertNotice;
  const sent = JSON.parse(
    render('["{{ data.image }}", "{{ data.image }}", {{ data.image }}, "{{ event }}"]', "json", large),
  );
  assert.deepEqual([sent[0].length, sent[1], sent[2], sent[3]], [200_000, "", null, "triggered"]);
});
