import assert from "node:assert/strict";
import { test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { Tracks } from "../../schemas/detections.ts";
import type { Frame, FrameMetadata } from "../element.ts";
import { detection, detections } from "../marks.fixture.ts";
import { TrackHandler } from "./handler.ts";

const validate = new Ajv2020({ strict: true }).compile(Tracks);

test("what is written fits the schema: seen, predicted, at the edge, and ended", () => {
  let lastId = 0;
  const handler = new TrackHandler({ maxAgeMs: 500, showPredictedMs: 100, cameraMotion: "none" }, () => ++lastId);
  const format = { caps: "", mediaType: "video/x-raw", pixels: "I420", width: 640, height: 360, fps: 25 };
  const written: Tracks[] = [];
  for (let index = 0; index < 120; index++) {
    const inferred = index % 3 === 0;
    const objects =
      inferred && index < 60 ? [detection([0.85, 0.4, 0.1, 0.2]), detection([0.01 * index, 0.1, 0.1, 0.2])] : [];
    const timeNs = BigInt(index) * 40_000_000n;
    const frame: Partial<Frame> = {
      ...{ ptsNs: timeNs, captureNs: timeNs, discontinuity: false, format, planes: [] },
      meta: { detections: detections(objects, { inferred }) },
      write: ({ tracks }: FrameMetadata) => void written.push(tracks as Tracks),
    };
    handler.process(frame as Frame);
  }
  for (const tracks of written) assert.ok(validate(tracks), JSON.stringify(validate.errors));
  assert.ok(written.some(({ objects }) => objects.some(({ predicted }) => !predicted)));
  assert.ok(written.some(({ objects }) => objects.some(({ predicted }) => predicted)));
  assert.ok(written.some(({ ended }) => ended.length > 0));
});
