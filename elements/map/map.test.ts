import assert from "node:assert/strict";
import { test } from "node:test";
import { compile } from "../../graphs/compiler/compile.ts";
import { formatFault } from "../../graphs/compiler/fault.ts";
import type { Box, Tracks } from "../../schemas/detections.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { collector, compiledText, inputWith, start } from "../../test/graph.fixture.ts";
import type { FrameMetadata } from "../element.ts";
import { detection, detections, marker, track, tracks } from "../marks.fixture.ts";

const BOX: Box = [0.1, 0.1, 0.5, 0.5];
const graph = (steps: string, end = "collect") => `graph: mapped
chains:
  main:
    - source: { uri: "test:ball?width=64&height=48&frames=2" }
    - decode
    - mark
${steps.replaceAll(/^(?! )/gm, "    - ")}
    - ${end}
`;

async function run(steps: string, meta: FrameMetadata, end = "collect") {
  const mark = marker(() => meta);
  const seen: FrameMetadata[] = [];
  const sent: JsonRecord[] = [];
  const look = collector((frame) => void seen.push(frame.meta));
  const running = await start(compiledText(graph(steps, end), mark, look), [mark, look], {
    send: async (_, __, message) => void sent.push(message),
  });
  assert.deepEqual(await running.ended, { state: "finished", error: null });
  return { meta: seen.at(-1) ?? {}, sent };
}

test("adds values to every track and to the frame, for expressions and messages downstream", async () => {
  const before = { detections: detections([]), tracks: tracks([track(1, BOX), track(2, [0, 0, 0.1, 0.1])]) };
  const steps = [
    'map: { set: { area: "width * height", kind: "class_name + \'!\'", far: "1 / 0" }, frame: { half: "frame_width / 2" } }',
    'map: { set: { large: "area > 0.2 && kind == \'person!\'" }, frame: { wide: "half > 30" } }',
    'filter: "large && wide"',
  ].join("\n");
  const { meta } = await run(steps, before);
  assert.deepEqual((meta.tracks as Tracks).objects, [
    { ...track(1, BOX), values: { area: 0.25, kind: "person!", far: null, large: true } },
  ]);
  assert.deepEqual(meta.values, { half: 32, wide: true });
  const { sent } = await run(`${steps}\ncount`, before, "detections");
  const [{ values, counts, active_tracks } = {}] = sent;
  assert.deepEqual([values, counts], [{ half: 32, wide: true }, { count: { total: 1, classes: { person: 1 } } }]);
  assert.deepEqual((active_tracks as readonly JsonRecord[])[0]?.values, {
    ...{ area: 0.25, kind: "person!", far: null, large: true },
  });
});

test("adds values to detections without tracking", async () => {
  const only = marker(() => ({ detections: detections([detection(BOX)]) }));
  const seen: FrameMetadata[] = [];
  const look = collector(({ meta }) => void seen.push(meta));
  const running = await start(compiledText(graph('map: { set: { sure: "confidence > 0.5" } }'), only, look), [
    only,
    look,
  ]);
  await running.ended;
  assert.deepEqual(seen[0]?.detections, detections([{ ...detection(BOX), values: { sure: true } }]));
});

const mark = marker(() => ({}));
const look = collector(() => undefined);
const faultsOf = (steps: string) =>
  compile({ file: "a.yaml", text: graph(steps) }, inputWith(mark, look)).faults.map(formatFault);

for (const [behaviour, steps, expected] of [
  [
    "locates the fault of one of several expressions",
    'map:\n        set:\n          fine: width > 1\n          bad: "width > hight"',
    /^a\.yaml:10:25: map\.set\.bad: unknown variable `hight`.*did you mean "height"/,
  ],
  [
    "checks types of computed values",
    'map: { set: { big: "width > 1" } }\nfilter: "big > 3"',
    /^a\.yaml:8:16: .*no such overload: bool > number/,
  ],
  [
    "keeps names of built-in variables",
    'map: { set: { width: "1" } }',
    /^a\.yaml:7:7: map defines `width`, which exists already/,
  ],
  [
    "objects have no value of the frame's name",
    'map: { set: { a: "1" }, frame: { a: "2" } }',
    /map defines `a`, which exists already/,
  ],
  [
    "a frame has no values of objects",
    'map: { frame: { a: "width" } }',
    /^a\.yaml:7:27: map\.frame\.a: `width` is a value of an object, not of the frame \(expected frame_width, frame_height\)/,
  ],
  [
    "new tracks have no values of detections",
    'map: { set: { big: "width > 1" } }\ntrack\nfilter: big',
    /unknown variable `big`/,
  ],
] as const)
  test(behaviour, () => {
    assert.match(faultsOf(steps).join("\n"), expected);
  });

test("bounds the expressions of a graph", () => {
  const steps = Array.from({ length: 30 }, (_, i) => {
    const set = Array.from({ length: 20 }, (__, k) => `v${i}_${k}: "width > ${k}"`);
    return `map: { set: { ${set.join(", ")} } }`;
  });
  assert.deepEqual(faultsOf(steps.join("\n")), [
    "a.yaml:32:7: the graph has more than 500 expressions (expected at most 500)",
  ]);
  assert.deepEqual(faultsOf(steps.slice(0, 25).join("\n")), []);
});
