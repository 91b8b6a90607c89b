import assert from "node:assert/strict";
import { test } from "node:test";
import type { Box } from "../../schemas/detections.ts";
import { collector, compiledText, start } from "../../test/graph.fixture.ts";
import type { FrameMetadata, Shape } from "../element.ts";
import { detection, detections, marker, track, tracks } from "../marks.fixture.ts";
import { type OverlayProperties, Picture } from "./picture.ts";

const BOX: Box = [0.25, 0.5, 0.125, 0.25];
const DEFAULTS: OverlayProperties = { labels: ["class", "id", "confidence"], trails: 2, classes: [], opacity: 1 };
const HD = { width: 1920, height: 1080 };

/** Draws frames 40 ms apart. */
function screen(change: Partial<OverlayProperties> = {}, size = HD) {
  const picture = new Picture({ ...DEFAULTS, ...change });
  const format = { caps: "", mediaType: "video/x-raw", pixels: "I420", fps: 25, ...size };
  let timeMs = 1_700_000_000_000;
  const draw = (meta: FrameMetadata, discontinuity = false): Shape[] => {
    timeMs += 40;
    return picture.draw({ captureNs: BigInt(timeMs) * 1_000_000n, discontinuity, format, meta });
  };
  return { picture, draw, wait: (ms: number) => (timeMs += ms) };
}

const ofKind = <K extends Shape["kind"]>(shapes: readonly Shape[], kind: K) =>
  shapes.filter((shape): shape is Extract<Shape, { kind: K }> => shape.kind === kind);
const coloured = (shapes: readonly Shape[]) => ofKind(shapes, "box").filter(({ colour }) => colour !== 0);
const walk = (step: number, id = 1) => track(id, [0.1 + step * 0.01, 0.4, 0.05, 0.2]);

test("draws a track with box and label, and no trail on its first frame", () => {
  const shapes = screen().draw({ tracks: tracks([track(7, BOX)]) });
  const [box] = coloured(shapes);
  assert.deepEqual([box?.x, box?.y, box?.width, box?.height], [480, 540, 240, 270]);
  const [text] = ofKind(shapes, "text");
  assert.deepEqual([text?.text, text?.x, (text?.y ?? 0) + 25], ["person #7 87%", 480, 540]);
  assert.deepEqual([text?.background, ofKind(shapes, "line").length], [box?.colour, 0]);
});

test("draws detections without tracking with boxes and labels, without ids and trails", () => {
  const { draw } = screen();
  let shapes: Shape[] = [];
  for (let i = 0; i < 10; i += 1) shapes = draw({ detections: detections([detection([i * 0.05, 0.4, 0.05, 0.2])]) });
  assert.equal(coloured(shapes).length, 1);
  assert.equal(ofKind(shapes, "text")[0]?.text, "person 87%");
  assert.equal(ofKind(shapes, "line").length, 0);
});

test("leaves a frame without objects or metadata unchanged", () => {
  assert.deepEqual(screen().draw({ tracks: tracks([]) }), []);
  assert.deepEqual(screen().draw({}), []);
});

test("draws a missed object thin and dashed until it is detected again", () => {
  const { draw } = screen();
  const dashed = (predicted: boolean, inferred: boolean) =>
    coloured(draw({ tracks: tracks([track(1, BOX, { predicted })], { inferred }) }))[0]?.dash !== undefined;
  assert.equal(dashed(false, true), false);
  assert.equal(dashed(true, false), false, "no inference");
  assert.equal(dashed(true, true), true);
  assert.equal(dashed(true, false), true, "no inference again");
  assert.equal(dashed(false, true), false);
});

test("draws a fading trail of a moving object that ends at the foot of its box", () => {
  const { draw } = screen();
  let shapes: Shape[] = [];
  for (let i = 0; i < 20; i += 1) shapes = draw({ tracks: tracks([walk(i)]) });
  const [line] = ofKind(shapes, "line");
  assert.ok(line && line.points instanceof Float32Array);
  const [box] = coloured(shapes);
  assert.deepEqual(
    [...line.points.slice(-2)],
    [(box?.x ?? 0) + (box?.width ?? 0) / 2, (box?.y ?? 0) + (box?.height ?? 0)],
  );
  assert.equal(line.start, 0);
  assert.ok((line.points[0] ?? 0) < (line.points.at(-2) ?? 0) - 200);
});

for (const [behaviour, jump] of [
  ["a gap in the stream", "gap"],
  ["a seek", "seek"],
] as const)
  test(`${behaviour} restarts trails`, () => {
    const { picture, draw } = screen();
    for (let i = 0; i < 20; i += 1) draw({ tracks: tracks([walk(i)]) });
    if (jump === "seek") picture.forget();
    assert.equal(ofKind(draw({ tracks: tracks([walk(30)]) }, jump === "gap"), "line").length, 0);
  });

test("follows its properties, also while PLAYING", () => {
  const meta = { tracks: tracks([track(1, BOX), track(2, [0.6, 0.5, 0.1, 0.2], { classId: 2, className: "car" })]) };
  const { picture, draw } = screen({ labels: ["class"], opacity: 0.5 });
  assert.deepEqual(
    ofKind(draw(meta), "text").map(({ text, opacity }) => [text, opacity]),
    [
      ["person", 0.5],
      ["car", 0.5],
    ],
  );
  picture.properties = { ...DEFAULTS, labels: [], classes: ["car"], trails: 0 };
  for (let i = 0; i < 5; i += 1) {
    const shapes = draw(meta);
    assert.equal(ofKind(shapes, "text").length + ofKind(shapes, "line").length, 0);
    assert.deepEqual(
      coloured(shapes).map(({ x, opacity }) => [x, opacity]),
      [[1152, 1]],
    );
  }
});

test("a crowd has short labels, with hysteresis", () => {
  const { draw } = screen({}, { width: 640, height: 360 });
  const crowd = (count: number) =>
    ofKind(
      draw({
        tracks: tracks(
          Array.from({ length: count }, (_, i) => track(i + 1, [(i % 10) / 10, Math.floor(i / 10) / 10, 0.05, 0.08])),
        ),
      }),
      "text",
    ).map(({ text }) => text);
  assert.equal(crowd(20)[0], "person #1 87%");
  assert.equal(crowd(80)[0], "#1");
  assert.equal(crowd(30)[0], "#1");
  assert.equal(crowd(20)[0], "person #1 87%");
});

test("sizes scale with the area of the frame, not with its orientation", () => {
  const sizes = ([width, height]: readonly [number, number]) => {
    const shapes = screen({}, { width, height }).draw({ tracks: tracks([track(1, BOX)]) });
    return [ofKind(shapes, "text")[0]?.size, coloured(shapes)[0]?.thickness];
  };
  assert.deepEqual(
    (
      [
        [640, 360],
        [1920, 1080],
        [1080, 1920],
        [3840, 2160],
      ] as const
    ).map(sizes),
    [
      [11, 2],
      [20, 3],
      [20, 3],
      [40, 5],
    ],
  );
});

test("drops the state of objects not seen for long", () => {
  const { picture, draw, wait } = screen();
  for (let id = 1; id < 2000; id += 1) draw({ tracks: tracks([walk(0, id)], { ended: id % 2 === 0 ? [id - 1] : [] }) });
  assert.ok(picture.remembered <= 60, `${picture.remembered}`);
  wait(10_000);
  draw({ tracks: tracks([]) });
  assert.equal(picture.remembered, 0);
});

for (const pixels of ["I420", "NV12"])
  test(`in a graph, changes ${pixels} frames around the box only`, async () => {
    const before: Uint8Array[] = [];
    const after: Uint8Array[] = [];
    const mark = marker((frame) => {
      before.push(frame.copy());
      return { tracks: tracks([track(1, [0.25, 0.25, 0.5, 0.5])]) };
    });
    const look = collector((frame) => void after.push(frame.copy()));
    const text = `
graph: overlaid
about: One box on a test picture.
chains:
  main:
    - source: { uri: "test:smpte?width=320&height=180&frames=2" }
    - decode
    - videoconvert
    - caps: "video/x-raw,format=${pixels}"
    - mark
    - overlay: { labels: [] }
    - collect
`;
    const graph = await start(compiledText(text, mark, look), [mark, look]);
    assert.deepEqual(await graph.ended, { state: "finished", error: null });
    assert.equal(after.length, 2);
    const changed = (x: number, y: number) => after[1]?.[y * 320 + x] !== before[1]?.[y * 320 + x];
    assert.ok([80, 239].every((x) => changed(x, 90)) && [45, 135].every((y) => changed(160, y)));
    for (let y = 0; y < 180; y += 1)
      for (let x = 0; x < 320; x += 1)
        if (x < 78 || x > 241 || y < 42 || y > 137 || (x > 84 && x < 235 && y > 50 && y < 130))
          assert.ok(!changed(x, y), `${x},${y}`);
  });
