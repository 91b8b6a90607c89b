import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { compile } from "../../graphs/compiler/compile.ts";
import { formatFault } from "../../graphs/compiler/fault.ts";
import type { CameraMotion } from "../../schemas/camera-motion.ts";
import type { Box, Tracks } from "../../schemas/detections.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { Place } from "../../schemas/places.ts";
import { collector, compiledText, inputWith, start } from "../../test/graph.fixture.ts";
import { detection, detections, marker, track, tracks } from "../marks.fixture.ts";
import { cropMetadata } from "./metadata.ts";
import { croppedPart } from "./region.ts";

const SIZE = { width: 400, height: 200 };
const RIGHT_HALF: Box = [0.5, 0, 0.5, 1];

test("boxes and velocities are those of the region; objects outside are dropped with their places", () => {
  const place: Place = { azimuth: 1, elevation: 2, distance: 3, isDistanceEstimated: false, spot: null };
  const meta = cropMetadata(
    {
      tracks: tracks([
        track(1, [0.1, 0.1, 0.2, 0.2]),
        track(2, [0.4, 0.5, 0.2, 0.2], { velocity: [0.1, 0.1] }),
        track(3, [0.75, 0, 0.25, 1]),
      ]),
      detections: detections([detection([0.5, 0.5, 0.25, 0.5])], { weak: [detection([0, 0, 0.1, 0.1])] }),
      places: { mode: "full", ageMs: 0, objects: [null, { ...place, distance: 2 }, place] },
    },
    RIGHT_HALF,
    SIZE,
  );
  const { objects } = meta.tracks as Tracks;
  assert.deepEqual(
    objects.map(({ id, box, velocity }) => [id, box.map((value) => Math.round(value * 1e6) / 1e6), velocity]),
    [
      [2, [0, 0.5, 0.2, 0.2], [0.2, 0.1]],
      [3, [0.5, 0, 0.5, 1], [0, 0]],
    ],
  );
  assert.deepEqual(meta.detections, detections([detection([0, 0.5, 0.5, 0.5])]));
  assert.deepEqual(meta.places, { mode: "full", ageMs: 0, objects: [{ ...place, distance: 2 }, place] });
  assert.deepEqual(meta.crop, RIGHT_HALF);
  assert.deepEqual(cropMetadata({ crop: RIGHT_HALF }, [0.5, 0.5, 0.5, 0.5], SIZE).crop, [0.75, 0.5, 0.25, 0.5]);
});

test("camera motion moves a point of the region as it does in the whole picture", () => {
  const part = fc.tuple(...[0, 0, 1, 1].map((least) => fc.double({ min: least * 0.2, max: 0.7, noNaN: true })));
  const small = fc.double({ min: -0.2, max: 0.2, noNaN: true });
  fc.assert(
    fc.property(
      part,
      fc.tuple(small, small, small, small),
      fc.tuple(small, small),
      (box, [da, b, right, down], [px, py]) => {
        const motion = { a: 1 + da, b, right, down };
        const move = ({ a, b: turn, right: x, down: y }: CameraMotion, [u, v]: readonly [number, number]) =>
          [a * u - turn * v + x, turn * u + a * v + y] as const;
        const meta = cropMetadata({ cameraMotion: motion }, box as Box, SIZE);
        const [left, top, , high] = meta.crop as Box;
        const whole = ([u, v]: readonly [number, number]) => [left * 2 + u * high, top + v * high] as const;
        const inside = whole(move(meta.cameraMotion as CameraMotion, [px, py]));
        const outside = move(motion, whole([px, py]));
        assert.ok(Math.hypot(inside[0] - outside[0], inside[1] - outside[1]) < 1e-9);
      },
    ),
  );
});

for (const [pixels, size, region] of [
  ["I420", [320, 180], [0.25, 0.5, 0.5, 0.25]],
  ["NV12", [320, 180], [0.1, 0.1, 0.33, 0.77]],
  ["I420", [321, 181], [0.3, 0.9, 0.9, 0.9]],
  ["I420", [64, 48], [0.999, 0.999, 0.001, 0.001]],
] as const)
  test(`in a graph, ${region.join()} of ${pixels} ${size.join("x")} is that part of the pixels, with boxes and messages to match`, async () => {
    const [width, height] = size;
    const whole: Uint8Array[] = [];
    const parts: { luma: Uint8Array; width: number; height: number; box: Box | undefined }[] = [];
    const sent: JsonRecord[] = [];
    const part = croppedPart([...region], { width, height });
    const middle: Box = [part[0] + part[2] / 4, part[1] + part[3] / 4, part[2] / 2, part[3] / 2];
    const mark = marker((frame) => {
      whole.push(frame.copy());
      return { detections: detections([]), tracks: tracks([track(1, middle)]) };
    });
    const look = collector((frame) => {
      const { width: wide, height: high } = frame.format;
      const box = (frame.meta.tracks as Tracks).objects[0]?.box;
      parts.push({ luma: frame.copy(), width: wide, height: high, box });
    });
    const text = `
graph: cropped
chains:
  main:
    - source: { uri: "test:smpte100?width=${width}&height=${height}&frames=2" }
    - decode
    - videoconvert
    - caps: "video/x-raw,format=${pixels}"
    - mark
    - crop: [${region.join()}]
    - tee: { name: t }
  pixels: [{ from: t }, queue, collect]
  messages: [{ from: t }, queue, detections]
`;
    const running = await start(compiledText(text, mark, look), [mark, look], {
      send: async (_, __, message) => void sent.push(message),
    });
    assert.deepEqual(await running.ended, { state: "finished", error: null });
    const [left, top] = [Math.round(part[0] * width), Math.round(part[1] * height)];
    const seen = parts[1] ?? assert.fail();
    assert.deepEqual([seen.width, seen.height], [Math.round(part[2] * width), Math.round(part[3] * height)]);
    for (let y = 0; y < seen.height; y++)
      for (let x = 0; x < seen.width; x++)
        assert.equal(seen.luma[y * seen.width + x], whole[1]?.[(top + y) * width + left + x], `${x}, ${y}`);
    assert.deepEqual(
      seen.box?.map((value) => Math.round(value * 1000) / 1000),
      [0.25, 0.25, 0.5, 0.5],
    );
    const [entry] = (sent[1]?.active_tracks ?? []) as readonly { readonly bbox: readonly number[] }[];
    assert.deepEqual(entry?.bbox, [seen.width / 4, seen.height / 4, seen.width / 2, seen.height / 2]);
  });

test("elements that need the whole picture are rejected behind it", () => {
  const text = `graph: g
chains:
  main:
    - source
    - decode
    - detect
    - crop: [0, 0, 0.5, 1]
    - track
    - geolocate
    - print
`;
  const faults = compile({ file: "a.yaml", text }, { ...inputWith(), mode: "check" }).faults.map(formatFault);
  assert.deepEqual(faults, [
    'a.yaml:9:7: "geolocate" needs the whole picture, but an element before it crops it (expected "geolocate" before `crop`, or on a branch of a `tee` before it)',
  ]);
});

test("a region outside of the frame is a located fault", () => {
  const text = `graph: g\nchains:\n  main:\n    - source\n    - decode\n    - crop: [0, 0, 1.5, 1]\n    - print\n`;
  const faults = compile({ file: "a.yaml", text }, { ...inputWith(), mode: "check" }).faults.map(formatFault);
  assert.deepEqual(faults, ["a.yaml:6:20: crop.region.2 is 1.5 (expected a number from 0 to 1)"]);
});
