import assert from "node:assert/strict";
import { test } from "node:test";
import { CommandFailure } from "../command.ts";
import { header } from "./golden.fixture.ts";
import { formatGolden, type Golden, parseGolden } from "./golden.ts";

const GOLDEN: Golden = {
  header: header(),
  said: [
    {
      node: "detections",
      channel: "detection_data",
      message: { timestamp: "1970-01-01T00:00:00.000Z", active_tracks: [] },
    },
  ],
};

test("a golden is lines of JSON with sorted keys, the header first", () => {
  const lines = formatGolden(GOLDEN).split("\n");
  assert.equal(lines.length, 3);
  assert.match(
    lines[0] ?? "",
    /^\{"clip":\{"name":"yard\.mp4","sha256":"a+"\},"frames":60,"golden":2,"graph":"detect",/,
  );
  assert.equal(
    lines[1],
    '{"channel":"detection_data","message":{"active_tracks":[],"timestamp":"1970-01-01T00:00:00.000Z"},"node":"detections"}',
  );
});

test("what was written is read", () => assert.deepEqual(parseGolden(formatGolden(GOLDEN), "g"), GOLDEN));

const [first = "", message = ""] = formatGolden(GOLDEN).split("\n");
const faulty: readonly (readonly [string, RegExp])[] = [
  ["", /^g:1: this is not a JSON object; expected a golden file/],
  ["hello\n", /^g:1: this is not a JSON object/],
  ["{}\n", /^g:1: the header is without "golden"/],
  [first.replace('"golden":2', '"golden":1'), /^g:1: golden is 1; expected 2/],
  [first.replace("aaaa", "aa"), /^g:1: clip\.sha256 is "a+…; expected 64 hexadecimal digits/],
  [`${first}\n${message}\n[1]\n`, /^g:3: this is not a JSON object/],
  [`${first}\n{"node":"a","message":{}}\n`, /^g:2: expected a message/],
  [`${first}\n${message.slice(0, 40)}`, /^g:2: this is not a JSON object/],
];
for (const [text, expected] of faulty)
  test(`a file that begins ${JSON.stringify(text.slice(0, 20))} is rejected with its line: ${expected.source}`, () =>
    assert.throws(
      () => parseGolden(text, "g"),
      (error) => error instanceof CommandFailure && expected.test(error.message),
    ));
