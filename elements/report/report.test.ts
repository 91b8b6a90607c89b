import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { Box, Track } from "../../schemas/detections.ts";
import type { Place, Places } from "../../schemas/places.ts";
import {
  MOST_PATCH_BYTES,
  MOST_REPORTED_POINTS,
  MOST_REPORTED_TRACKS,
  type ReportedTrack,
  type TrackPoint,
  TrackReport,
} from "../../schemas/track-report.ts";
import { compiledText, start } from "../../test/graph.fixture.ts";
import type { PicturePart } from "../element.ts";
import { marker, track, tracks } from "../marks.fixture.ts";
import { ReportHandler, type ReportSettings } from "./handler.ts";
import { isWorthKeeping, measureM } from "./live-track.ts";

const validate = new Ajv2020({ strict: true }).compile(TrackReport);
const BOX: Box = [0.25, 0.5, 0.125, 0.25];
const START_MS = 1_700_000_000_000;
const DEFAULT: ReportSettings = { pointSeconds: 1, pointMetres: 2, patches: false, patchPixels: 640 };
const size = { width: 1920, height: 1080 };
const format = { ...size, caps: "", mediaType: "video/x-raw", pixels: "I420", fps: 30 };

const spot = (latitude: number, longitude: number, errorM = 0.5) => ({
  ...{ latitude, longitude, altitude: 30, errorM },
  speedMps: null,
  heading: null,
});
const place = (where: TrackPoint["spot"]): Place => ({
  ...{ azimuth: 0, elevation: -30, distance: 100, isDistanceEstimated: false },
  spot: where,
});
const places = (...objects: (Place | null)[]): Places => ({ mode: "full", objects, ageMs: 20 });

function reporting(change: Partial<ReportSettings> = {}, bytesOf = (_pixels: number) => 9) {
  const sent: TrackReport[] = [];
  const asked: PicturePart[] = [];
  const image = async (_type: string, part: PicturePart = {}) => {
    asked.push(part);
    return new Uint8Array(bytesOf(part.mostPixels ?? 0)).fill(asked.length);
  };
  const handler = new ReportHandler({ ...DEFAULT, ...change }, async (report) => {
    assert.ok(validate(report), JSON.stringify(validate.errors));
    assert.ok(report.tracks.reduce((sum, { points }) => sum + points.length, 0) <= MOST_REPORTED_POINTS);
    sent.push(structuredClone(report));
  });
  const show = (ms: number, objects: Track[], more: { ended?: number[]; inferred?: boolean; places?: Places } = {}) =>
    handler.process({
      captureNs: BigInt(START_MS + ms) * 1_000_000n + 999_999n,
      ...{ inputSize: size, format, image },
      meta: {
        tracks: tracks(objects, { ended: more.ended ?? [], inferred: more.inferred ?? true }),
        ...(more.places !== undefined && { places: more.places }),
      },
    });
  const reported = (id: number): ReportedTrack[] =>
    sent.flatMap((report) => report.tracks.filter((one) => one.id === id));
  return { handler, show, sent, reported, asked };
}

describe("a track report", () => {
  test("summarises a track and marks its end", async () => {
    const { show, reported } = reporting();
    await show(0, [track(7, BOX, { classId: 2, className: "truck", confidence: 0.5 })]);
    await show(400, [track(7, BOX, { classId: 2, className: "car", confidence: 0.9 })]);
    await show(800, [track(7, [0.5, 0.5, 0.1, 0.1], { classId: 2, className: "car", confidence: 0.7 })]);
    await show(2000, [], { ended: [7] });
    const last = reported(7).at(-1);
    assert.ok(last);
    const { points, pointsBefore, confidence, ...summary } = last;
    assert.deepEqual(summary, {
      id: 7,
      classId: 2,
      className: "car",
      firstSeenMs: START_MS,
      lastSeenMs: START_MS + 800,
      sightings: 3,
      box: [960, 540, 192, 108],
      isLive: false,
    });
    assert.equal(confidence.best, 0.9);
    assert.equal(confidence.least, 0.5);
    assert.ok(Math.abs(confidence.mean - 0.7) < 1e-9);
    // The first point and, since the track has ended, the last.
    assert.deepEqual([pointsBefore, points.map(({ timeMs }) => timeMs - START_MS)], [1, [800]]);
  });

  test("is sent at most once per second with changes, and at once when a track ends", async () => {
    const { show, sent } = reporting();
    for (let ms = 0; ms <= 3000; ms += 100) await show(ms, [track(1, BOX), ...(ms < 1000 ? [track(2, BOX)] : [])]);
    assert.equal(sent.length, 4);
    assert.deepEqual(
      sent.map((report) => report.tracks.map(({ id }) => id)),
      [[1, 2], [1, 2], [1], [1]],
    );
    await show(3100, [track(1, BOX)], { ended: [2] });
    assert.deepEqual(
      sent.at(-1)?.tracks.map(({ id, isLive }) => [id, isLive]),
      [[2, false]],
    );
  });

  test("includes all live tracks at the end of the stream, and no state remains", async () => {
    const { handler, show, sent, reported } = reporting();
    await show(0, [track(1, BOX), track(2, BOX)]);
    await handler.end();
    assert.deepEqual([reported(1).at(-1)?.isLive, reported(2).at(-1)?.isLive], [false, false]);
    const { length } = sent;
    await handler.close();
    await show(5000, []);
    assert.equal(sent.length, length);
  });

  test("counts detections, not predictions, and ignores tracks that were only predicted", async () => {
    const { handler, show, reported } = reporting();
    await show(0, [track(1, BOX, { confidence: 0.8 })]);
    await show(500, [track(1, BOX, { predicted: true, confidence: 0.1 }), track(2, BOX, { predicted: true })]);
    await show(1000, [track(1, BOX, { confidence: 0.1 })], { inferred: false });
    await handler.end();
    assert.deepEqual(reported(2), []);
    const last = reported(1).at(-1);
    assert.deepEqual([last?.sightings, last?.confidence.least, last?.lastSeenMs], [1, 0.8, START_MS]);
  });

  test("matches positions to tracks by order, and omits missing ones", async () => {
    const { handler, show, reported } = reporting();
    const here = spot(48.1, 11.5);
    await show(0, [track(1, BOX, { predicted: true }), track(2, BOX), track(3, BOX)], {
      places: places(place(spot(1, 1)), place(here), place(null)),
    });
    await show(1000, [track(4, BOX)], { places: { mode: "none", objects: [], ageMs: null } });
    await handler.end();
    assert.deepEqual(
      [2, 3, 4].map((id) => reported(id)[0]?.points[0]?.spot),
      [here, null, null],
    );
  });

  test("reports every point once and in order, in messages of bounded size", async () => {
    const { handler, show, sent } = reporting({ pointSeconds: 0.2, pointMetres: 0 });
    const crowd = Array.from({ length: 250 }, (_, i) => track(i + 1, BOX));
    for (let ms = 0; ms < 3000; ms += 100) await show(ms, crowd);
    await handler.end();
    assert.ok(sent.every((report) => report.tracks.length <= MOST_REPORTED_TRACKS));
    for (const { id } of crowd) {
      const parts = sent.flatMap((report) => report.tracks.filter((one) => one.id === id));
      let expected = 0;
      for (const { pointsBefore, points } of parts) {
        assert.equal(pointsBefore, expected);
        expected += points.length;
      }
      assert.deepEqual(
        parts.flatMap(({ points }) => points.map(({ timeMs }) => timeMs - START_MS)),
        [...Array.from({ length: 15 }, (_, i) => i * 200), 2900],
      );
    }
  });

  test("ends all tracks at a seek", async () => {
    const { handler, show, reported } = reporting();
    await show(0, [track(1, BOX)]);
    handler.flush();
    await show(100, [track(2, BOX)]);
    assert.equal(reported(1).at(-1)?.isLive, false);
  });

  test("drops a track whose end was never reported", async () => {
    const { show, reported } = reporting();
    await show(0, [track(1, BOX)]);
    await show(600_000, [track(2, BOX)]);
    assert.equal(reported(1).at(-1)?.isLive, false);
  });

  test("thinning is mutable while PLAYING", async () => {
    const { handler, show, reported } = reporting({ pointSeconds: 3600, pointMetres: 0 });
    for (let ms = 0; ms <= 3000; ms += 500) await show(ms, [track(1, BOX)]);
    handler.update({ ...DEFAULT, pointSeconds: 0.5, pointMetres: 0 });
    for (let ms = 3500; ms <= 4500; ms += 500) await show(ms, [track(1, BOX)]);
    await handler.end();
    assert.deepEqual(
      reported(1).flatMap(({ points }) => points.map(({ timeMs }) => timeMs - START_MS)),
      [0, 3500, 4000, 4500],
    );
  });
});

describe("the image of a track", () => {
  const near = (side: number, at = 0.4): Box => [at, at, side, side];

  test("shows its box with a margin, and is reported once", async () => {
    const { show, reported, asked } = reporting({ patches: true, patchPixels: 320 });
    await show(0, [track(1, [0.5, 0.25, 0.1, 0.2], { confidence: 0.75 })]);
    await show(1000, [track(1, [0.5, 0.25, 0.1, 0.2], { confidence: 0.75 })]);
    const [{ region, mostPixels } = {}] = asked;
    assert.ok(region !== undefined && region.x < 0.5 && region.width > 0.1 && region.height > 0.2);
    assert.equal(mostPixels, 260);
    const jpeg = Buffer.alloc(9, 1).toString("base64");
    assert.deepEqual(
      reported(1).map(({ patch }) => patch),
      [{ timeMs: START_MS, confidence: 0.75, jpeg }, undefined],
    );
  });

  test("is replaced only when clearly better, and not with every frame of an approaching object", async () => {
    const { show, asked } = reporting({ patches: true });
    await show(0, [track(1, near(0.1))]);
    await show(500, [track(1, near(0.11))]);
    assert.equal(asked.length, 1);
    await show(600, [track(1, near(0.15))]);
    assert.equal(asked.length, 2);
    await show(700, [track(1, near(0.25))]);
    assert.equal(asked.length, 2);
    await show(1100, [track(1, near(0.25))]);
    await show(1600, [track(1, [0, 0, 0.25, 0.25])]);
    assert.equal(asked.length, 3);
  });

  test("is taken of detections only, and not if disabled", async () => {
    const { handler, show, asked } = reporting({ patches: true });
    await show(0, [track(1, BOX, { predicted: true })]);
    await show(100, [track(2, BOX)], { inferred: false });
    handler.update(DEFAULT);
    await show(200, [track(3, BOX)]);
    assert.deepEqual(asked, []);
  });

  test("is limited per frame and per second, tracks without an image first, and deterministic", async () => {
    const run = async () => {
      const { handler, show, asked, sent } = reporting({ patches: true });
      const crowd = Array.from({ length: 30 }, (_, i) => track(i + 1, near(0.05 + i * 0.01, 0.2)));
      const inFrame: number[] = [];
      for (let ms = 0; ms < 3000; ms += 100) {
        const before = asked.length;
        await show(ms, crowd);
        inFrame.push(asked.length - before);
      }
      await handler.end();
      return { inFrame, sent };
    };
    const first = await run();
    assert.ok(Math.max(...first.inFrame) <= 2);
    for (const second of [0, 1, 2])
      assert.ok(first.inFrame.slice(second * 10, second * 10 + 10).reduce((sum, some) => sum + some) <= 12);
    const withPatch = first.sent.flatMap((report) => report.tracks.filter(({ patch }) => patch !== undefined));
    assert.equal(new Set(withPatch.map(({ id }) => id)).size, 30);
    assert.deepEqual((await run()).sent, first.sent);
  });

  test("is encoded smaller if it is too large, and omitted if that does not help", async () => {
    const { show, reported, asked } = reporting({ patches: true }, (pixels) =>
      pixels > 400 ? MOST_PATCH_BYTES + 1 : 1000,
    );
    await show(0, [track(1, [0.1, 0.1, 0.8, 0.8])]);
    assert.deepEqual(
      asked.map(({ mostPixels }) => mostPixels),
      [640, 448, 313],
    );
    assert.equal(reported(1)[0]?.patch?.jpeg.length, 1336);
    const noisy = reporting({ patches: true }, () => MOST_PATCH_BYTES + 1);
    await noisy.show(0, [track(1, BOX)]);
    await noisy.show(1000, [track(1, BOX)]);
    assert.deepEqual([noisy.reported(1)[0]?.patch, noisy.asked.length], [undefined, 4]);
  });

  test("is split over several messages if needed", async () => {
    const { handler, show, sent } = reporting({ patches: true }, () => MOST_PATCH_BYTES);
    const crowd = Array.from({ length: 6 }, (_, i) => track(i + 1, near(0.2)));
    for (let ms = 1; ms < 900; ms += 100) await show(ms, crowd);
    await handler.end();
    for (const { tracks } of sent)
      assert.ok(tracks.reduce((sum, { patch }) => sum + (patch?.jpeg.length ?? 0), 0) <= 256 * 1024);
    assert.equal(sent.flatMap(({ tracks }) => tracks).filter(({ patch }) => patch !== undefined).length, 6);
  });
});

describe("thinning", () => {
  const pointAt = (ms: number, where: TrackPoint["spot"] = null): TrackPoint => ({
    ...{ timeMs: START_MS + ms, confidence: 0.9, box: BOX },
    spot: where,
  });
  const metresNorth = (metres: number, errorM?: number) => spot(48 + metres / 111_195, 11, errorM);

  test("keeps a point every second, and earlier after a move of more than two metres and its error", () => {
    const first = pointAt(0, metresNorth(0));
    const cases: readonly (readonly [TrackPoint, boolean])[] = [
      [pointAt(999, metresNorth(0)), false],
      [pointAt(1000, metresNorth(0)), true],
      [pointAt(500, metresNorth(1.9)), false],
      [pointAt(500, metresNorth(2.1)), true],
      [pointAt(500, metresNorth(2.1, 5)), false],
      [pointAt(500, metresNorth(5.1, 5)), true],
      // More than five times per second is noise.
      [pointAt(100, metresNorth(50)), false],
      // Its position became unknown.
      [pointAt(500, null), true],
      // The clock was set back.
      [pointAt(-1000, metresNorth(0)), true],
    ];
    for (const [next, isKept] of cases) assert.equal(isWorthKeeping(first, next, 1000, DEFAULT), isKept);
  });

  test("measures across the date line and at the poles", () => {
    assert.ok(Math.abs(measureM(spot(0, 179.99999), spot(0, -179.99999)) - 2.224) < 0.01);
    assert.ok(measureM(spot(90, 0), spot(90, 170)) < 1e-6);
  });

  for (const [words, jumpM] of [
    ["stands still", 0],
    ["jumps to and fro", 40],
  ] as const)
    test(`keeps a bounded number of points of a track that stays for a day and ${words}`, () => {
      let [kept, last] = [0, null as TrackPoint | null];
      for (let ms = 0; ms < 86_400_000; ms += 1_000) {
        const next = pointAt(ms, metresNorth(ms % 2_000 === 0 ? 0 : jumpM));
        if (!isWorthKeeping(last, next, ms, DEFAULT)) continue;
        [kept, last] = [kept + 1, next];
      }
      assert.ok(kept >= 1_000 && kept < 20_000, String(kept));
    });
});

test("in a graph, reports tracks on their own channel, including the end of the stream", async () => {
  const sent: (readonly [channel: string, message: TrackReport])[] = [];
  const mark = marker((frame) => ({ tracks: tracks([track(1, [0.5, 0.5, 0.25, 0.25], { ageMs: frame.index })]) }));
  const text = `
graph: reported
about: One object in a picture that is made smaller.
chains:
  main:
    - source: { uri: "test:smpte?width=640&height=480&frames=30&fps=10" }
    - decode
    - resize: { to: 360p }
    - mark
    - report
    - print: { every: 1000 }
`;
  const graph = await start(compiledText(text, mark), [mark], {
    send: async (_node, channel, message) => void sent.push([channel, message as TrackReport]),
    print: async () => {},
  });
  assert.deepEqual(await graph.ended, { state: "finished", error: null });
  assert.deepEqual([...new Set(sent.map(([channel]) => channel))], ["track_report"]);
  assert.equal(sent.length, 4);
  const last = sent.at(-1)?.[1].tracks[0];
  assert.deepEqual([last?.sightings, last?.isLive, last?.box], [30, false, [320, 240, 160, 120]]);
  const patches = sent.flatMap(([, { tracks }]) => tracks.flatMap(({ patch }) => patch ?? []));
  assert.deepEqual([patches.length, patches[0]?.timeMs], [1, 0]);
  // A JPEG: its first and its last two bytes.
  assert.match(Buffer.from(patches[0]?.jpeg ?? "", "base64").toString("hex"), /^ffd8.*ffd9$/);
  assert.deepEqual(
    sent.flatMap(([, { tracks }]) => tracks.flatMap(({ points }) => points.map(({ timeMs }) => timeMs))),
    [0, 1000, 2000, 2900],
  );
});
