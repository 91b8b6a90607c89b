import assert from "node:assert/strict";
import { test } from "node:test";
import { listVariables, NO_VALUES } from "../../expressions/variables.ts";
import { compile } from "../../graphs/compiler/compile.ts";
import { formatFault } from "../../graphs/compiler/fault.ts";
import type { Box, Counts } from "../../schemas/detections.ts";
import { collector, compiledText, inputWith, start } from "../../test/graph.fixture.ts";
import type { FrameMetadata } from "../element.ts";
import { detection, detections, marker, track, tracks } from "../marks.fixture.ts";
import { CountHandler, type CountProperties } from "./handler.ts";

const variables = listVariables(new Set(["detections", "tracks"]), NO_VALUES);
const LEFT: Box = [0.1, 0.1, 0.2, 0.2];
const RIGHT: Box = [0.7, 0.1, 0.2, 0.2];
const HALF: [number, number][] = [
  [0, 0],
  [0.5, 0],
  [0.5, 1],
  [0, 1],
];

/** The handler, and what it writes and prints. */
function counter(change: Partial<CountProperties> = {}) {
  const printed: string[] = [];
  const print = async (line: string) => void printed.push(line);
  const handler = new CountHandler({ as: "count", print: false, ...change }, { print, variables });
  const count = (meta: FrameMetadata): Counts => {
    const written: FrameMetadata[] = [];
    void handler.process({
      ...{ meta, captureNs: 0n, write: (part: FrameMetadata) => void written.push(part) },
      format: { caps: "", mediaType: "video/x-raw", pixels: "I420", width: 640, height: 360, fps: 25 },
    });
    return written.at(-1)?.counts as Counts;
  };
  return { handler, count, printed };
}

const SCENE = {
  tracks: tracks([
    track(1, LEFT),
    track(2, RIGHT),
    track(3, RIGHT, { className: "car" }),
    track(4, LEFT, { className: "__proto__" }),
  ]),
};

test("counts objects by class, in a region and by an expression", () => {
  assert.equal(
    JSON.stringify(counter().count(SCENE)),
    '{"count":{"total":4,"classes":{"__proto__":1,"car":1,"person":2}}}',
  );
  assert.deepEqual(counter({ region: HALF, where: "class_name == 'person'" }).count(SCENE), {
    count: { total: 1, classes: { person: 1 } },
  });
});

test("keeps the counts of other elements", () => {
  const earlier = { cars: { total: 2, classes: { car: 2 } } };
  assert.deepEqual(counter({ as: "all" }).count({ tracks: tracks([]), counts: earlier }), {
    ...earlier,
    all: { total: 0, classes: {} },
  });
});

test("without tracking, repeats the count of the last inference", () => {
  const { count } = counter();
  count({ detections: detections([detection(LEFT)]) });
  assert.equal(count({ detections: detections([], { inferred: false }) }).count?.total, 1);
  assert.equal(count({ detections: detections([]) }).count?.total, 0);
});

test("prints a line when a count changes", () => {
  const { count, printed } = counter({ as: "people", print: true });
  for (const objects of [[], [], [track(1, LEFT)], [track(2, RIGHT)], []]) count({ tracks: tracks(objects) });
  assert.deepEqual(
    printed.map((line) => JSON.parse(line)),
    [
      { time: "1970-01-01T00:00:00.000Z", count: "people", total: 0, classes: {} },
      { time: "1970-01-01T00:00:00.000Z", count: "people", total: 1, classes: { person: 1 } },
      { time: "1970-01-01T00:00:00.000Z", count: "people", total: 0, classes: {} },
    ],
  );
});

test("follows region and expression while PLAYING, and keeps the old ones if the new do not fit", () => {
  const { handler, count } = counter();
  handler.update({ as: "count", print: false, region: HALF });
  assert.equal(count(SCENE).count?.total, 2);
  assert.throws(() => handler.update({ as: "count", print: false, where: "speed_mps > 1" }), /unknown variable/);
  assert.equal(count(SCENE).count?.total, 2);
});

test("a count is a variable downstream, in a running graph", async () => {
  const mark = marker(() => ({ ...SCENE, detections: detections([]) }));
  const seen: FrameMetadata[] = [];
  const look = collector(({ meta }) => void seen.push(meta));
  const text = `
graph: counted
chains:
  main:
    - source: { uri: "test:ball?frames=2" }
    - decode
    - mark
    - count: { as: people, where: "class_name == 'person'" }
    - count: { as: cars, where: "class_name == 'car'" }
    - filter: "people > 1 && cars == 1 && class_name == 'car'"
    - collect
`;
  const graph = await start(compiledText(text, mark, look), [mark, look]);
  assert.deepEqual(await graph.ended, { state: "finished", error: null });
  assert.deepEqual(seen[1]?.counts, {
    people: { total: 2, classes: { person: 2 } },
    cars: { total: 1, classes: { car: 1 } },
  });
  assert.deepEqual(seen[1]?.tracks, tracks([track(3, RIGHT, { className: "car" })]));
  const faultsOf = (change: string) =>
    compile({ file: "a.yaml", text: text.replace("as: cars", change) }, inputWith(mark, look)).faults.map(formatFault);
  assert.match(faultsOf("as: people")[0] ?? "", /^a\.yaml:9:7: count defines `people`, which exists already/);
  assert.match(faultsOf("as: width")[0] ?? "", /^a\.yaml:9:7: count defines `width`, which exists already/);
  assert.match(faultsOf("as: Cars")[0] ?? "", /^a\.yaml:9:20: count\.as is "Cars"/);
});
