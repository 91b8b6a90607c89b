import assert from "node:assert/strict";
import { test } from "node:test";
import type { Detections, Tracks } from "../../schemas/detections.ts";
import type { LumaPlane } from "../../vision/grey.ts";
import { openPan, paintObject } from "../../vision/scene.fixture.ts";
import type { Frame, FrameMetadata } from "../element.ts";
import { TrackHandler, type TrackProperties } from "./handler.ts";

const [WIDTH, HEIGHT] = [640, 360];
const PROPERTIES: TrackProperties = { maxAgeMs: 2000, showPredictedMs: 100, cameraMotion: "none" };

/** Counts ids from 1. */
function create(properties: TrackProperties): TrackHandler {
  let lastId = 0;
  return new TrackHandler(properties, () => ++lastId);
}

const pan = openPan(WIDTH, HEIGHT, 120);

interface Shot {
  readonly ms: number;
  /** Left, top, width and height in pixels. */
  readonly boxes?: readonly (readonly [number, number, number, number])[];
  readonly inferred?: boolean;
  readonly still?: true;
  readonly meta?: FrameMetadata;
  readonly plane?: LumaPlane;
  readonly discontinuity?: boolean;
  readonly captureMs?: number;
}

function shoot(handler: TrackHandler, shot: Shot): Tracks {
  const detections: Detections = {
    inferred: shot.inferred ?? true,
    ...(shot.still && { still: true }),
    model: "default",
    confidence: 0.4,
    objects: (shot.boxes ?? []).map(([x, y, width, height]) => ({
      classId: 0,
      className: "person",
      confidence: 0.8,
      box: [x / WIDTH, y / HEIGHT, width / WIDTH, height / HEIGHT],
    })),
    weak: [],
  };
  let written: FrameMetadata = {};
  const frame: Partial<Frame> = {
    ptsNs: BigInt(shot.ms) * 1_000_000n,
    captureNs: BigInt(shot.captureMs ?? shot.ms) * 1_000_000n,
    discontinuity: shot.discontinuity ?? false,
    format: { caps: "", mediaType: "video/x-raw", pixels: "I420", width: WIDTH, height: HEIGHT, fps: 25 },
    meta: { detections, ...shot.meta },
    planes: shot.plane === undefined ? [] : [shot.plane],
    write: (part) => {
      written = { ...written, ...part };
    },
  };
  handler.process(frame as Frame);
  return written.tracks as Tracks;
}

test("tracks are in fractions of the frame, with class, age and speed", () => {
  const handler = create(PROPERTIES);
  const all = Array.from({ length: 25 }, (_, i) => shoot(handler, { ms: i * 40, boxes: [[100 + i * 4, 90, 40, 90]] }));
  const [track] = all.at(-1)?.objects ?? [];
  assert.equal(track?.id, 1);
  assert.equal(track?.className, "person");
  assert.equal(track?.ageMs, 960);
  assert.equal(track?.predicted, false);
  const near = (found: number | undefined, expected: number) => assert.ok(Math.abs((found ?? 0) - expected) < 0.01);
  near(track?.box[0], 196 / WIDTH);
  near(track?.box[3], 90 / HEIGHT);
  near(track?.velocity[0], 100 / WIDTH);
  near(track?.velocity[1], 0);
});

test("frames without inference carry predicted tracks", () => {
  const handler = create(PROPERTIES);
  for (let i = 0; i < 20; i++) shoot(handler, { ms: i * 80, boxes: [[100 + i * 8, 90, 40, 90]] });
  const tracks = shoot(handler, { ms: 19 * 80 + 40, inferred: false });
  assert.equal(tracks.inferred, false);
  assert.deepEqual(
    tracks.objects.map(({ id, predicted }) => ({ id, predicted })),
    [{ id: 1, predicted: true }],
  );
  assert.ok(Math.abs((tracks.objects[0]?.box[0] ?? 0) * WIDTH - 256) < 1);
});

test("clips boxes to the frame, and does not show a track outside it", () => {
  const handler = create({ ...PROPERTIES, showPredictedMs: 2000 });
  for (let i = 0; i < 30; i++) {
    const right = Math.min(560 + i * 4, 640);
    const left = Math.min(520 + i * 4, 630);
    for (const { box } of shoot(handler, { ms: i * 40, boxes: [[left, 90, right - left, 90]] }).objects)
      assert.ok(box[0] >= 0 && box[0] + box[2] <= 1 && box[2] > 0);
  }
  const gone = [1, 2, 3].map((seconds) => shoot(handler, { ms: 1200 + seconds * 600 }));
  assert.deepEqual(gone.at(-1)?.objects, []);
});

test("a stream interrupted for longer than the life of a track resumes with new ids", () => {
  const handler = create(PROPERTIES);
  for (let i = 0; i < 5; i++) shoot(handler, { ms: i * 40, boxes: [[100, 90, 40, 90]] });
  const back = shoot(handler, { ms: 200, captureMs: 30_000, discontinuity: true, boxes: [[100, 90, 40, 90]] });
  assert.deepEqual(back.ended, [1]);
  assert.deepEqual(
    back.objects.map(({ id }) => id),
    [2],
  );
});

/** Two people who walk towards each other, 250 pixels apart at first. */
const walkers = (ms: number) => [[100 + ms / 50, 90, 40, 90] as const, [400 - ms / 50, 100, 40, 90] as const];
const idsOf = ({ objects }: Tracks) => objects.map(({ id }) => id);

/** The last state that a handler keeps, and the text of every other. */
function keepWalkers(untilMs: number): readonly string[] {
  const texts: string[] = [];
  const keep = (text: string): void => void texts.push(text);
  let lastId = 6;
  const handler = new TrackHandler(PROPERTIES, () => ++lastId, { keep });
  for (let ms = 0; ms <= untilMs; ms += 100) shoot(handler, { ms, boxes: walkers(ms) });
  return texts;
}

const CONTINUED = [
  { gapMs: 0, ids: [7, 8] },
  { gapMs: 700, ids: [7, 8] },
  { gapMs: 4000, ids: [7, 8] },
  // A file continues at the position of the last report, which is up to a second before the last frame.
  { gapMs: -900, ids: [7, 8] },
  { gapMs: 60_000, ids: [20, 21] },
  { gapMs: -10_000, ids: [20, 21] },
];
for (const { gapMs, ids } of CONTINUED)
  test(`a successor ${gapMs} ms later gives people the ids ${ids}`, () => {
    let lastId = 19;
    const kept = keepWalkers(3000).at(-1) ?? "";
    const handler = new TrackHandler(PROPERTIES, () => ++lastId, { kept });
    // Its PTS begin again.
    const times = [0, 200, 400].map((ms) => ({ ms, captureMs: 3000 + gapMs + ms }));
    const back = times.map(({ ms, captureMs }) =>
      shoot(handler, { ms, captureMs, boxes: walkers(Math.abs(gapMs) > 9000 ? 3000 + ms : captureMs) }),
    );
    assert.deepEqual(back.map(idsOf), [ids, ids, ids]);
    assert.equal(back[0]?.objects[0]?.className, "person");
    if (gapMs === 60_000) assert.deepEqual(back[0]?.ended, [7, 8]);
  });

test("keeps its state at most five times per second, and ignores one of another element", () => {
  assert.equal(keepWalkers(3000).length, 16);
  for (const kept of ["", "[]", "{", '["tracks-1",0,null,[[1,2,3]],[]]', "null"]) {
    const handler = new TrackHandler(PROPERTIES, () => 1, { kept });
    assert.deepEqual(idsOf(shoot(handler, { ms: 0, boxes: [[100, 90, 40, 90]] })), [1]);
  }
});

test("max-age-ms is mutable while PLAYING, from the next frame on", () => {
  const handler = create(PROPERTIES);
  for (let i = 0; i < 5; i++) shoot(handler, { ms: i * 40, boxes: [[100, 90, 40, 90]] });
  handler.update({ ...PROPERTIES, maxAgeMs: 300 });
  assert.deepEqual(shoot(handler, { ms: 400 }).ended, []);
  assert.deepEqual(shoot(handler, { ms: 520 }).ended, [1]);
});

test("a seek drops all state except the ids used", () => {
  const handler = create(PROPERTIES);
  for (let i = 0; i < 5; i++) shoot(handler, { ms: 10_000 + i * 40, boxes: [[100, 90, 40, 90]] });
  handler.flush();
  const tracks = shoot(handler, { ms: 0, boxes: [[100, 90, 40, 90]] });
  assert.deepEqual(tracks.ended, [1]);
  assert.deepEqual(
    tracks.objects.map(({ id }) => id),
    [2],
  );
});

/** Number of ids given to three standing people before a swinging camera. */
function countIds(cameraMotion: TrackProperties["cameraMotion"], isGiven = false): number {
  const handler = create({ ...PROPERTIES, cameraMotion });
  const people = [
    [120, 100, 40, 90],
    [300, 140, 44, 100],
  ] as const;
  const ids = new Set<number>();
  let lastX = 0;
  for (let i = 0; i < 40; i++) {
    const x = Math.round(90 * Math.sin(i * 0.9));
    const boxes = people.map(([left, top, width, height]) => [left + x, top, width, height] as const);
    const plane = pan(x);
    for (const box of boxes) paintObject(plane, box);
    const meta = isGiven ? { cameraMotion: { a: 1, b: 0, right: (x - lastX) / HEIGHT, down: 0 } } : {};
    lastX = x;
    for (const { id } of shoot(handler, { ms: i * 100, boxes, meta, plane }).objects) ids.add(id);
  }
  return ids.size;
}

test("keeps the ids under a swinging camera by the motion of the image", () => {
  assert.equal(countIds("picture"), 2);
  assert.ok(countIds("none") > 2, "the swing is too weak to prove anything");
});

test("uses camera motion in the metadata", () => {
  assert.equal(countIds("none", true), 2);
});

/** Maximum position error in pixels of a standing person before a panning camera. */
function measureWorst(cameraMotion: (i: number) => FrameMetadata): number {
  const handler = create({ ...PROPERTIES, cameraMotion: "picture", showPredictedMs: 2000 });
  let worst = 0;
  for (let i = 0; i < 30; i++) {
    const x = 4 * i;
    const plane = pan(x);
    const isSeen = i < 10;
    const boxes = isSeen ? [[120 + x, 100, 40, 90] as const] : [];
    const tracks = shoot(handler, { ms: i * 40, boxes, inferred: isSeen, meta: cameraMotion(i), plane });
    if (i > 0) worst = Math.max(worst, Math.abs((tracks.objects[0]?.box[0] ?? 0) * WIDTH - 120 - x));
  }
  return worst;
}

const motionMeta = (right: number): FrameMetadata => ({ cameraMotion: { a: 1, b: 0, right, down: 0 } });

test("does not apply given motion a second time from the image", () => {
  assert.ok(measureWorst((i) => (i >= 12 && i < 20 ? motionMeta(4 / HEIGHT) : {})) < 8);
});

test("ignores non-finite motion", () => {
  assert.ok(measureWorst((i) => (i === 15 ? motionMeta(Number.NaN) : {})) < 2);
  assert.ok(measureWorst((i) => (i === 15 ? motionMeta(Number.POSITIVE_INFINITY) : {})) < 2);
});

test("tracks outlive a still time of any length", () => {
  const handler = create(PROPERTIES);
  const box = [100, 100, 40, 80] as const;
  for (const ms of [0, 40, 80]) shoot(handler, { ms, boxes: [box] });
  for (let ms = 120; ms < 20_000; ms += 40)
    assert.equal(shoot(handler, { ms, inferred: false, still: true }).objects[0]?.id, 1);
  assert.equal(shoot(handler, { ms: 20_000, boxes: [box] }).objects[0]?.id, 1);
});
