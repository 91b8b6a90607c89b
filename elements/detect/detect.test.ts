import assert from "node:assert/strict";
import test from "node:test";
import type { Detections } from "../../schemas/detections.ts";
import { type AnyElement, defineElement, type Frame } from "../element.ts";
import { makeLightModel } from "./detect.fixture.ts";
import detect from "./detect.ts";
import { DetectHandler } from "./handler.ts";
import { detectWith, finished, run, type Seen } from "./run.fixture.ts";

const NO_HANG = { timeout: 60_000 };
const light = makeLightModel();

/** Position of the light in fractions of the frame: by its pixels, and by detection. */
function centreOfFrame({ planes: [luma], format: { width, height } }: Frame): readonly [number, number] {
  const sum = [0, 0, 0] as [number, number, number];
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const weight = (luma?.data[y * (luma?.stride ?? 0) + x] ?? 16) - 16;
      sum[0] += weight * (x + 0.5);
      sum[1] += weight * (y + 0.5);
      sum[2] += weight;
    }
  return [sum[0] / sum[2] / width, sum[1] / sum[2] / height];
}

function centreOfDetections({ objects, weak }: Detections): readonly [number, number] {
  const all = [...objects, ...weak];
  const sum = [0, 0, 0] as [number, number, number];
  for (const {
    box: [x, y, width, height],
    confidence,
  } of all) {
    const weight = confidence * width * height;
    sum[0] += weight * (x + width / 2);
    sum[1] += weight * (y + height / 2);
    sum[2] += weight;
  }
  return [sum[0] / sum[2], sum[1] / sum[2]];
}

/** A pixel of the model, in fractions of the frame. */
const NEAR = 1 / 48;

function assertOnBall(frame: Frame, detections: Detections): void {
  const [x, y] = centreOfFrame(frame);
  const [foundX, foundY] = centreOfDetections(detections);
  assert.ok(Math.abs(x - foundX) < NEAR && Math.abs(y - foundY) < NEAR, `${foundX}, ${foundY} is not ${x}, ${y}`);
}

for (const [what, properties] of [
  ["the whole frame is analysed", ""],
  ["default tiles are analysed", 'tiles=\'{"columns": 2, "rows": 2}\''],
  ["tiles are analysed", 'tiles=\'{"columns": 3, "rows": 2, "overlap": 0.25, "whole": true}\''],
])
  test(`boxes lie on the object when ${what}`, NO_HANG, async () => {
    const picture = "width=160&height=90&fps=25&frames=2";
    const { seen } = await finished(detectWith(light), { picture, properties: properties ?? "", check: assertOnBall });
    assert.equal(seen.length, 2);
    assert.ok(seen.every(({ detections }) => detections.inferred && detections.objects.length > 0));
  });

test("analyses only the given region, with boxes in coordinates of the frame", NO_HANG, async () => {
  const roi = { x: 0.5, y: 0.25, width: 0.25, height: 0.5 };
  const { seen } = await finished(detectWith(light), {
    picture: "width=160&height=90&fps=25&frames=40",
    properties: `roi='${JSON.stringify(roi)}'`,
    check(frame, detections) {
      const [x, y] = centreOfFrame(frame);
      const isInside = Math.abs(x - roi.x - roi.width / 2) < 0.02 && Math.abs(y - roi.y - roi.height / 2) < 0.1;
      if (isInside) assertOnBall(frame, detections);
    },
  });
  const boxes = seen.flatMap(({ detections }) => detections.objects.map(({ box }) => box));
  assert.ok(boxes.length > 0);
  for (const [x, y, width, height] of boxes)
    assert.ok(
      x >= 0.5 && y >= 0.25 && x + width <= 0.75 + 1e-9 && y + height <= 0.75 + 1e-9,
      `${x} ${y} ${width} ${height}`,
    );
});

test("the same clip gives bit-identical detections", NO_HANG, async () => {
  const texts = [];
  for (const _ of [1, 2]) {
    const { seen } = await finished(detectWith(light));
    texts.push(JSON.stringify(seen.map(({ ptsNs, detections }) => [String(ptsNs), detections])));
  }
  assert.equal(texts[0], texts[1]);
});

test("at pace fast infers every Nth frame, by its number", NO_HANG, async () => {
  const { seen } = await finished(detectWith(light), { properties: "every=5" });
  assert.deepEqual(
    seen.map(({ detections }) => detections.inferred),
    [...Array(12).keys()].map((index) => index % 5 === 0),
  );
});

test("live, a slow model drops no frame, and gives the same detections as at pace fast", NO_HANG, async () => {
  const slow = makeLightModel({ work: 2000 });
  const picture = "width=160&height=90&fps=60&frames=30";
  const all = (await finished(detectWith(light), { picture })).seen;
  const { seen } = await finished(detectWith(slow), { picture, live: true });
  const asText = ({ ptsNs, detections }: Seen) => JSON.stringify([String(ptsNs), detections]);
  assert.equal(seen.length, 30);
  assert.deepEqual(
    seen.map(({ ptsNs }) => ptsNs),
    all.map(({ ptsNs }) => ptsNs),
  );
  const inferred = seen.filter(({ detections }) => detections.inferred);
  assert.ok(inferred.length > 0 && inferred.length < 30, `${inferred.length} inferences`);
  const expected = new Set(all.map(asText));
  for (const frame of inferred) assert.ok(expected.has(asText(frame)));
  for (const { detections } of seen)
    if (!detections.inferred) assert.deepEqual([detections.objects, detections.weak], [[], []]);
});

test("by motion, a still image is inferred once per refresh time, at either pace", NO_HANG, async () => {
  const picture = "width=160&height=90&fps=25&frames=30";
  for (const live of [false, true]) {
    const order = { pattern: "smpte75", picture, properties: "every=motion refresh-seconds=0.8", live };
    const { seen } = await finished(detectWith(light), order);
    const inferred = seen.flatMap(({ detections }, index) => (detections.inferred ? [index] : []));
    const [, second = 0] = inferred;
    assert.deepEqual([seen.length, inferred], [30, [0, second]]);
    // Live, a model that is still busy with the first frame takes a later one.
    assert.ok(live ? second >= 20 : second === 20, `frame ${second}`);
    for (const { detections } of seen) assert.equal(detections.still ?? false, !detections.inferred);
  }
});

test(
  "by motion, tiles that do not change keep their objects: the same detections as with all tiles",
  NO_HANG,
  async () => {
    const grid = { columns: 2, rows: 1, overlap: 0.25, whole: false };
    const runs = [grid, { ...grid, motion: true }].map((tiles) =>
      finished(detectWith(light), {
        picture: "width=160&height=90&fps=25&frames=10",
        properties: `every=motion max-per-second=25 tiles='${JSON.stringify(tiles)}'`,
      }),
    );
    const [all, moving] = (await Promise.all(runs)).map(({ seen }) => seen.map(({ detections }) => detections));
    assert.deepEqual(moving, all);
    assert.ok(moving?.some(({ objects }) => objects.length > 0));
  },
);

test("moving tiles without inference by motion are rejected", NO_HANG, async () => {
  const { state, reason } = await run(detectWith(light), { properties: "tiles=motion" }).catch((error: Error) => ({
    ...{ state: "failed", reason: error.message },
  }));
  assert.equal(state, "failed");
  assert.match(reason, /moving tiles need every: motion, and every is auto/);
});

test("by motion, a moving ball is inferred at the given rate, the same frames each time", NO_HANG, async () => {
  const order = { picture: "width=160&height=90&fps=25&frames=30", properties: "every=motion max-per-second=5" };
  const all = (await finished(detectWith(light), { picture: order.picture })).seen;
  const [first, second] = [await finished(detectWith(light), order), await finished(detectWith(light), order)];
  assert.deepEqual(first.seen, second.seen);
  const inferred = first.seen.flatMap((frame, index) => (frame.detections.inferred ? [index] : []));
  assert.ok(inferred.length >= 6 && inferred.length <= 12, `inferred: ${inferred}`);
  for (const index of inferred) assert.deepEqual(first.seen[index], all[index]);
  assert.ok(first.seen.some(({ detections }) => !detections.inferred && detections.still === undefined));
});

test(
  "by motion, live frames that are due while the model is busy pass, and the newest is inferred",
  NO_HANG,
  async () => {
    const slow = makeLightModel({ work: 2000 });
    const picture = "width=160&height=90&fps=60&frames=30";
    const all = (await finished(detectWith(light), { picture })).seen;
    const { seen } = await finished(detectWith(slow), {
      picture,
      properties: "every=motion max-per-second=120",
      live: true,
    });
    assert.equal(seen.length, 30);
    const inferred = seen.flatMap((frame, index) => (frame.detections.inferred ? [index] : []));
    assert.ok(inferred.length > 0 && inferred.length < 30, `${inferred.length} inferences`);
    for (const index of inferred) assert.deepEqual(seen[index], all[index]);
  },
);

test(
  "thresholds and classes are mutable while PLAYING; an unknown class is rejected and changes nothing",
  NO_HANG,
  async () => {
    const properties = {
      model: "test",
      confidence: 0.4,
      weak: 0.2,
      overlap: null,
      classes: [],
      every: "auto" as const,
      maxPerSecond: 10,
      refreshSeconds: 3,
    };
    const whole = { ...properties, threads: 1, providers: ["cpu"], limitMs: 5000 };
    const { services } = machine();
    const handler = await DetectHandler.create(light, whole, services);
    const shared = sharing(handler);
    const countOf = async () => {
      const { seen } = await finished(shared, { picture: "width=160&height=90&fps=25&frames=1" });
      return seen[0]?.detections ?? assert.fail();
    };
    const before = await countOf();
    handler.update({ ...whole, confidence: 0.99 });
    const after = await countOf();
    assert.equal(after.confidence, 0.99);
    assert.ok(after.objects.length < before.objects.length && after.weak.length > before.weak.length);
    assert.throws(() => handler.update({ ...whole, classes: ["ligth"] }), /has no class "ligth"; did you mean "light"/);
    assert.deepEqual(await countOf(), after);
    await handler.close();
  },
);

test("one handler processes frames of different sizes", NO_HANG, async () => {
  const properties = {
    model: "test",
    confidence: null,
    weak: null,
    overlap: null,
    classes: [],
    every: "auto" as const,
    maxPerSecond: 10,
    refreshSeconds: 3,
  };
  const { services } = machine();
  const handler = await DetectHandler.create(
    light,
    { ...properties, threads: 1, providers: ["cpu"], limitMs: 5000 },
    services,
  );
  for (const picture of [
    "width=160&height=90&frames=2",
    "width=90&height=160&frames=2",
    "width=322&height=34&frames=2",
  ])
    await finished(sharing(handler), { picture: `${picture}&fps=25`, check: assertOnBall });
  await handler.close();
});

/** Uses an existing handler and keeps it open. */
function sharing(handler: DetectHandler): AnyElement {
  if (detect.kind !== "transform") throw new Error("detect passes frames on");
  return defineElement({ ...detect, create: () => ({ process: (frame) => handler.process(frame) }) });
}

function machine() {
  const quiet = () => {};
  const log = { debug: quiet, info: quiet, warn: quiet, error: quiet };
  const job = { uuid: "0", sourceUri: "", live: false, nextTrackId: () => 1 };
  const services = {
    node: "detect",
    job,
    log,
    emit: quiet,
    print: async () => {},
    send: async () => {},
    listen: () => quiet,
    answer: () => quiet,
  };
  return { services };
}

for (const [what, model, properties, expected] of [
  [
    "of another size",
    { ...light, card: { ...light.card, input: { ...light.card.input, width: 96 } } },
    "",
    /images: uint8 \[1, 32, 64, 3\][\s\S]*the card says uint8 \[1, 32, 96, 3\]/,
  ],
  [
    "of another family",
    { ...light, card: { ...light.card, decoder: { family: "yolox" as const } } },
    "",
    /boxes: float32 \[1, 2048, 4\][\s\S]*scores: float32/,
  ],
  ["whose file is not there", { ...light, file: "no-such-model.onnx" }, "", /no-such-model\.onnx/],
  [
    "with an unavailable provider",
    light,
    "providers=abacus",
    /onnxruntime does not offer the provider abacus here; it offers cpu/,
  ],
  ["with a class it does not know", light, "classes=lihgt", /has no class "lihgt"; did you mean "light"/],
  [
    "with a region beyond the frame",
    light,
    'roi=\'{"x": 0.9, "y": 0, "width": 0.2, "height": 1}\'',
    /roi reaches beyond the frame/,
  ],
] as const)
  test(`rejects a model ${what} at start`, NO_HANG, () =>
    assert.rejects(run(detectWith(model), { properties }), (error: Error) => {
      assert.match(error.message, expected);
      return true;
    }),
  );
