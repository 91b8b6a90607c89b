import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { compileText, messagesOf } from "./compiler.fixture.ts";
import { isInRange, readRange } from "./ranges.ts";

const graph = (tests: string): string => `graph: g
params: { level: { type: number, maximum: 1, default: 0.5 } }
chains: { main: [source, decode, { detect: { confidence: $level } }, print] }
tests:
${tests}`;

test("tests are read with their expectations", () => {
  const { tests, faults } = compileText(
    graph(`  yard:
    clip: yard.mp4
    params: { level: 0.3 }
    frames: 50
    expect: { frames: 50, tracks.traffic light: 3..5, alerts.the.gate.triggered: ">=1", alerts: 0, golden: yard.ndjson }
`),
  );
  assert.deepEqual(messagesOf({ faults }), []);
  const [yard] = tests;
  assert.deepEqual(
    [yard?.name, yard?.clip?.value, yard?.frames, yard?.golden?.value],
    ["yard", "yard.mp4", 50, "yard.ndjson"],
  );
  assert.deepEqual(
    yard?.expect.map(({ metric, range }) => [metric, range.text]),
    [
      [{ kind: "frames" }, "50"],
      [{ kind: "tracks", className: "traffic light" }, "3..5"],
      [{ kind: "alerts", alias: "the.gate", event: "triggered" }, ">=1"],
      [{ kind: "alerts", alias: null, event: null }, "0"],
    ],
  );
});

test("tests are not inherited", () => {
  const load = () => ({ file: "base.yaml", text: graph("  yard: { clip: a.mp4, expect: { frames: 1 } }\n") });
  assert.deepEqual(compileText("graph: h\nextends: base\n", { load }).tests, []);
});

const FORMS =
  "frames, messages, detections, detections.CLASS, tracks, tracks.CLASS, counts.NAME, alerts, alerts.ALIAS, alerts.ALIAS.triggered (or updated, cleared), fps_ratio or golden";
const NUMBERS = "a number, `3..5`, `3..`, `..5`, or with quotes `>=3`, `>3`, `<=5`, `<5`";

describe("a wrong test is a fault at its place", () => {
  const CASES: readonly (readonly [test: string, says: string])[] = [
    [
      "{ clip: a.mp4, expct: { frames: 1 } }",
      'a.yaml:5:3: test "a" expects nothing (expected `clip: FILE` and `expect: { tracks: 3..5 }`)',
    ],
    [
      "{ clips: a.mp4, expect: { frames: 1 } }",
      'a.yaml:5:8: a test has no key "clips" (expected about, clip, params, telemetry, telemetry_format, frames, alerts, expect; did you mean "clip"?)',
    ],
    [
      "{ clip: a.mp4, expect: { track.person: 1 } }",
      `a.yaml:5:31: a test cannot expect "track.person" (expected ${FORMS}; did you mean "tracks"?)`,
    ],
    ["{ clip: a.mp4, expect: { frames.x: 1 } }", `a.yaml:5:31: a test cannot expect "frames.x" (expected ${FORMS})`],
    ["{ clip: a.mp4, expect: { tracks: 5..3 } }", `a.yaml:5:39: "tracks" is "5..3" (expected ${NUMBERS})`],
    ["{ clip: a.mp4, expect: { tracks: many } }", `a.yaml:5:39: "tracks" is "many" (expected ${NUMBERS})`],
    ["{ clip: a.mp4, expect: {} }", `a.yaml:5:21: \`expect\` is empty (expected ${FORMS})`],
    [
      '{ clip: "rtsp://camera/a", expect: { frames: 1 } }',
      'a.yaml:5:14: the clip is "rtsp://camera/a" (expected a file, or test:PATTERN?frames=N: a test gets the same frames each time, and ends)',
    ],
    [
      '{ clip: "test:ball?frames=5", expect: { golden: a.ndjson } }',
      'a.yaml:5:54: a golden file of "test:ball?frames=5" (expected a clip that is a file)',
    ],
    [
      '{ clip: "test:ball", expect: { frames: 1 } }',
      'a.yaml:5:14: "test:ball" never ends (expected `frames: N`, or test:PATTERN?frames=N)',
    ],
    [
      '{ clip: "source: ", expect: { frames: 1 } }',
      'a.yaml:5:14: "source: " names no source (expected source:ALIAS or source:UUID)',
    ],
    [
      '{ clip: "source:yard", expect: { golden: a.ndjson } }',
      'a.yaml:5:47: a golden file of "source:yard" (expected a clip that is a file)',
    ],
    [
      "{ clip: a.mp4, params: { levl: 1 }, expect: { frames: 1 } }",
      'a.yaml:5:31: graph "g" has no parameter "levl" (expected level; did you mean "level"?)',
    ],
    [
      "{ clip: a.mp4, params: { level: 2 }, expect: { frames: 1 } }",
      'a.yaml:5:38: parameter "level" is 2 (expected a number of at most 1)',
    ],
    [
      "{ clip: a.mp4, frames: 0, expect: { frames: 1 } }",
      'a.yaml:5:29: "frames" is 0 (expected a whole number of frames, at least 1)',
    ],
    [
      "{ clip: a.mp4, alerts: [gate], expect: { frames: 1 } }",
      'a.yaml:5:30: "alerts" has "gate" (expected a list of bodies of `POST /alert`)',
    ],
  ];
  for (const [written, says] of CASES)
    test(written, () => assert.deepEqual(messagesOf(compileText(graph(`  a: ${written}\n`))), [says]));
});

describe("ranges", () => {
  const CASES: readonly (readonly [range: unknown, within: readonly number[], without: readonly number[]])[] = [
    [3, [3], [2, 4]],
    [0.5, [0.5], [0]],
    ["3..5", [3, 4, 5], [2, 5.1]],
    ["0.9..1.5", [0.9, 1.5], [0.8]],
    ["3..", [3, 1e9], [2]],
    ["..5", [0, 5], [6]],
    [">=3", [3, 4], [2]],
    [">3", [4], [3]],
    ["<= 5", [0, 5], [6]],
    ["<5", [4], [5]],
  ];
  for (const [written, within, without] of CASES)
    test(String(written), () => {
      const range = readRange(written) ?? assert.fail();
      for (const value of within) assert.ok(isInRange(value, range), `${value}`);
      for (const value of without) assert.ok(!isInRange(value, range), `${value}`);
    });

  for (const written of ["..", "5..3", "", ">", "=3", "3-5", "-1", -1, null, true, "<0", "1e3", ["1"]])
    test(`${JSON.stringify(written)} is none`, () => assert.equal(readRange(written), null));
});
