import assert from "node:assert/strict";
import { test } from "node:test";
import { listVariables, NO_VALUES } from "../../expressions/variables.ts";
import { compile } from "../../graphs/compiler/compile.ts";
import { formatFault } from "../../graphs/compiler/fault.ts";
import type { Tracks } from "../../schemas/detections.ts";
import type { Place } from "../../schemas/places.ts";
import { collector, compiledText, inputWith, start } from "../../test/graph.fixture.ts";
import { until } from "../../test/watch.fixture.ts";
import type { FrameMetadata } from "../element.ts";
import { detection, detections, marker, track, tracks } from "../marks.fixture.ts";
import { FilterHandler } from "./handler.ts";

const BOX: [number, number, number, number] = [0.1, 0.2, 0.3, 0.4];
const ALL = listVariables(new Set(["detections", "tracks", "places"]), NO_VALUES);

const place = (speedMps: number | null): Place => ({
  ...{ azimuth: 1, elevation: -2, distance: 30, isDistanceEstimated: false },
  spot: { latitude: 47, longitude: 8, altitude: 400, errorM: 2, speedMps, heading: null },
});

/** The metadata after the filter, and whether it wrote any. */
function filter(where: string, meta: FrameMetadata) {
  let written: FrameMetadata = {};
  new FilterHandler({ where }, ALL).process({
    ...{ meta, format: { caps: "", mediaType: "video/x-raw", pixels: "I420", width: 640, height: 360, fps: 25 } },
    write: (part) => {
      written = { ...written, ...part };
    },
  });
  return { meta: { ...meta, ...written }, written };
}

test("keeps objects and their places together", () => {
  const before = {
    tracks: tracks([
      track(1, BOX, { className: "car" }),
      track(2, BOX),
      track(3, BOX, { className: "car" }),
      track(4, BOX, { className: "car" }),
    ]),
    places: { mode: "full", ageMs: 0, objects: [place(3), place(20), place(9), place(null)] },
  };
  const { meta } = filter("class_name == 'car' && speed_mps > 8", before);
  assert.deepEqual(
    (meta.tracks as Tracks).objects.map(({ id }) => id),
    [3],
  );
  assert.deepEqual(meta.places, { mode: "full", ageMs: 0, objects: [place(9)] });
});

test("filters detections without tracking, weak ones included, with their places", () => {
  const [certain, unsure] = [detection(BOX, { confidence: 0.9 }), detection(BOX, { confidence: 0.5 })];
  const { meta } = filter("confidence > 0.6 && distance < 100", {
    detections: detections([certain, unsure], { weak: [detection(BOX, { confidence: 0.2 })] }),
    places: { mode: "full", ageMs: 0, objects: [place(1), place(2)] },
  });
  assert.deepEqual(meta.detections, detections([certain]));
  assert.deepEqual(meta.places, { mode: "full", ageMs: 0, objects: [place(1)] });
});

test("writes nothing where every object is kept", () => {
  assert.deepEqual(filter("confidence > 0", { tracks: tracks([track(1, BOX)]) }).written, {});
  assert.deepEqual(filter("confidence > 2", {}).written, {});
});

test("a detection has nothing that only tracks have", () => {
  const { meta } = filter("age_s > 0.5", { detections: detections([detection(BOX)]), tracks: tracks([track(1, BOX)]) });
  assert.deepEqual(meta, { detections: detections([]), tracks: tracks([track(1, BOX)]) });
});

const graph = (where: string, upstream = "detect\n    - track") => `graph: g
chains:
  main:
    - source: { uri: "test:ball?frames=3" }
    - decode
    - ${upstream}
    - filter: ${where}
    - print
`;
const faultsOf = (text: string) => compile({ file: "a.yaml", text }, inputWith()).faults.map(formatFault);

for (const [behaviour, where, expected] of [
  [
    "names the element that a variable needs",
    `"class_name == 'car' && speed_mps > 8"`,
    "a.yaml:8:39: filter.where: `speed_mps` needs `geolocate` upstream",
  ],
  [
    "suggests a near variable",
    "{ where: class_nam == 'car' }",
    'a.yaml:8:24: filter.where: unknown variable `class_nam` (expected class_name, class_id, confidence, left, top, width, height, x, y, track_id, age_s, predicted, velocity_x, velocity_y, frame_width, frame_height; did you mean "class_name"?)',
  ],
  [
    "wants a condition",
    "confidence",
    "a.yaml:8:15: filter.where: the result is a number (expected a condition, such as `confidence > 0.5`)",
  ],
  [
    "reports the line of a block text",
    ">-\n        confidence > 0.5 &&\n        class_name > 3",
    "a.yaml:10:9: filter.where: no such overload: text > number",
  ],
] as const)
  test(`a fault in an expression ${behaviour}`, () => {
    assert.deepEqual(faultsOf(graph(where)).map(sortNames), [sortNames(expected)]);
  });

/** The order of the names does not matter. */
const sortNames = (fault: string) =>
  fault.replace(/expected ([a-z_]+, [a-z_, ]+);/, (_, names: string) => `${names.split(", ").sort()}`);

test("an expression behind geolocate may use speeds", () => {
  assert.deepEqual(faultsOf(graph('"speed_mps > 8"', "detect\n    - telemetry\n    - track\n    - geolocate")), []);
});

test("an expression may be a parameter; its faults are reported at the parameter's use", () => {
  const text = `${graph("$where").replace("chains:", "params:\n  where: { type: string, default: speed > 1, live: true }\nchains:")}`;
  assert.match(faultsOf(text).join("\n"), /^a\.yaml:10:15: filter\.where: unknown variable `speed`/);
});

test("an element without a main property is given properties", () => {
  assert.deepEqual(faultsOf(graph("confidence > 0").replace("- print", "- print: 3")), [
    'a.yaml:9:14: "print" is given 3 (expected properties: `print: { property: value }`)',
  ]);
});

test("filters in a running graph, and follows `where` while PLAYING", async () => {
  const seen: number[][] = [];
  const mark = marker(() => ({
    detections: detections([]),
    tracks: tracks([track(1, BOX), track(2, BOX, { ageMs: 5000 })]),
  }));
  const look = collector(({ meta }) => {
    seen.push((meta.tracks as Tracks).objects.map(({ id }) => id));
  });
  const text = `
graph: filtered
params: { where: { type: string, default: age_s > 2, live: true } }
chains:
  main:
    - source: { uri: "test:ball?frames=400", pace: realtime }
    - decode
    - mark
    - filter: $where
    - collect
`;
  const compiled = compiledText(text, mark, look);
  assert.deepEqual(compiled.plan?.liveParams, ["where"]);
  const running = await start(compiled, [mark, look]);
  await until(() => seen.length > 0);
  assert.deepEqual(seen[0], [2]);
  await running.apply(
    compile({ file: "test.yaml", text }, { ...inputWith(mark, look), params: { where: "age_s < 2" } }),
  );
  seen.length = 0;
  await until(() => seen.length > 2);
  assert.deepEqual(seen.at(-1), [1]);
  await running.stop();
});

test("rejects a live expression that does not fit, and keeps the old one", () => {
  const variables = listVariables(new Set(["detections"]), NO_VALUES);
  const handler = new FilterHandler({ where: "confidence > 0.5" }, variables);
  assert.throws(() => handler.update({ where: "speed_mps > 1" }), /character 1: unknown variable `speed_mps`/);
  assert.throws(() => handler.update({ where: "confidence" }), /expected a condition/);
});
