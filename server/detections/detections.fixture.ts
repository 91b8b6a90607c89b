/** Messages: recorded ones, random ones, and those of a made-up scene. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { CAMERA_CHANNEL, type CameraMessage } from "../../schemas/camera-message.ts";
import type { DetectionMessage, TrackEntry } from "../../schemas/detection-message.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { Process } from "../processes/process.ts";
import type { ProcessNotice } from "../processes/processes.ts";

export const PROCESS = "01890000-0000-7000-8000-000000000001";
export const SOURCE = "rtsp://camera/main";
export const START_MS = Date.UTC(2026, 4, 17, 8);

/** A process that sends what it is given. */
export class Sender {
  readonly row: Process["row"];
  videoStartMs: number | null = null;
  #listener: (notice: ProcessNotice) => void = () => {};

  constructor(uuid = PROCESS) {
    this.row = { uuid } as Process["row"];
  }

  follow(listener: (notice: ProcessNotice) => void): () => void {
    this.#listener = listener;
    return () => {};
  }

  notify(notice: ProcessNotice): void {
    this.#listener(notice);
  }

  send(messages: readonly DetectionMessage[]): void {
    for (const message of messages)
      this.notify({ type: "message", channel: "detection_data", message: message as JsonRecord });
  }

  sendCamera(camera: CameraMessage): void {
    this.notify({ type: "message", channel: CAMERA_CHANNEL, message: camera as unknown as JsonRecord });
  }
}

/** What may be lost by storing a number: half of its unit, as docs/stored-detections.md states it. */
const ROUNDED = {
  confidence: 0.05,
  ...{ latitude: 5e-7, longitude: 5e-7, altitude: 0.05, distance: 0.05, azimuth: 0.005, elevation: 0.005 },
  ...{ position_error_m: 0.05, speed_mps: 0.05, heading: 0.05 },
};
const NOTHING = Object.fromEntries([...Object.keys(ROUNDED), "bbox", "scaled_bbox"].map((name) => [name, null]));
const ROUNDED_SIDE = 0.00005;

/** What is read has everything that was sent, in the same order, with numbers rounded as stated and not more. */
export function assertStored(
  found: readonly DetectionMessage[],
  sent: readonly DetectionMessage[],
  note?: string,
): void {
  const strip = (messages: readonly DetectionMessage[]) =>
    messages.map((message) => ({
      ...message,
      active_tracks: message.active_tracks.map((track) =>
        typeof track !== "object" || track === null ? track : { ...track, ...NOTHING },
      ),
    }));
  assert.deepEqual(strip(found), strip(sent), note);
  for (const [at, { active_tracks }] of sent.entries())
    for (const [place, track] of active_tracks.entries())
      if (typeof track === "object" && track !== null)
        assertRounded(found[at]?.active_tracks[place] as TrackEntry, track);
}

function assertRounded(found: TrackEntry, sent: TrackEntry): void {
  const near = (a: number | undefined, b: number | undefined, most: number, name: string): void => {
    const isNear = a === b || (a !== undefined && b !== undefined && Math.abs(a - b) <= most * 1.000001);
    assert.ok(isNear, `${name}: ${a} for ${b}`);
  };
  assert.deepEqual(Object.keys(found).sort(), Object.keys(sent).sort());
  for (const [name, most] of Object.entries(ROUNDED) as [keyof typeof ROUNDED, number][])
    near(found[name], sent[name], most, name);
  for (const side of [0, 1, 2, 3] as const) {
    near(found.scaled_bbox[side], sent.scaled_bbox[side], ROUNDED_SIDE, "scaled_bbox");
    // Of the largest input in these tests.
    near(found.bbox[side], sent.bbox[side], ROUNDED_SIDE * 1920 + 0.03, "bbox");
  }
}

export const messageAt = (timeMs: number, tracks: readonly TrackEntry[] = []): DetectionMessage => ({
  ...{ timestamp: new Date(timeMs).toISOString(), source_uri: SOURCE, process_uuid: PROCESS },
  active_tracks: [...tracks],
});

/** What the graph `detect` has sent for a clip, moved to the time of these tests. */
export function recordedMessages(name: "vtest" | "street"): readonly DetectionMessage[] {
  const path = new URL(`../../test/golden/${name}.golden.ndjson`, import.meta.url);
  const lines = readFileSync(path, "utf8").trim().split("\n").slice(1);
  return lines
    .map((line) => JSON.parse(line) as { channel: string; message: DetectionMessage })
    .filter(({ channel }) => channel === "detection_data")
    .map(({ message }) => messageAt(START_MS + Date.parse(message.timestamp), message.active_tracks));
}

const part = (value: number, parts: number): number => Math.round(value * parts) / parts + 0;

export const trackOf = (
  id: number,
  [x, y, wide, high]: readonly [number, number, number, number],
  { width = 1280, height = 720, confidence = 0.87, className = "person", classId = 0 } = {},
): TrackEntry => ({
  ...{ track_id: id, class_id: classId, class_name: className },
  bbox: [part(x * width, 100), part(y * height, 100), part(wide * width, 100), part(high * height, 100)],
  scaled_bbox: [part(x, 1e6), part(y, 1e6), part(wide, 1e6), part(high, 1e6)],
  confidence: part(confidence * 100, 100),
});

/** A frame of a scene in which objects pass by, with the noise of a detector. The same number gives the same frame. */
export function sceneAt(frame: number, objects: number, intervalMs = 100): DetectionMessage {
  const noise = (salt: number): number => {
    const value = Math.sin(frame * 12.9898 + salt * 78.233) * 43_758.5453;
    return value - Math.floor(value) - 0.5;
  };
  const tracks = Array.from({ length: objects }, (_, at) => {
    // Each is visible for 20 s.
    const life = Math.floor((frame + at * 40) / 200);
    const age = ((frame + at * 40) % 200) / 200;
    const box = [0.05 + age * 0.8, 0.2 + at * 0.1, 0.05 + age * 0.01, 0.15].map(
      (value, side) => value + noise(at * 8 + side) * 0.002,
    ) as [number, number, number, number];
    const className = at % 3 === 2 ? "car" : "person";
    const look = { confidence: 0.8 + noise(at * 8 + 5) * 0.1, className, classId: at % 3 === 2 ? 2 : 0 };
    return trackOf(1 + at + life * objects, box, look);
  });
  return messageAt(START_MS + frame * intervalMs, tracks);
}

const share = fc.double({ min: 0, max: 1, noNaN: true });
const optional = (max: number, parts: number, min = 0) =>
  fc.option(
    fc.double({ min, max, noNaN: true }).map((value) => part(value, parts)),
    { nil: undefined },
  );
const position = fc.record({
  ...{ latitude: optional(90, 1e7, -90), longitude: optional(180, 1e7, -180), altitude: optional(9000, 100, -400) },
  ...{ distance: optional(50_000, 100), azimuth: optional(180, 1000, -180), elevation: optional(90, 1000, -90) },
  distance_estimated: fc.constantFrom(true, undefined),
  ...{ position_error_m: optional(1000, 100), speed_mps: optional(80, 100), heading: optional(359, 1000) },
});

const anyTrack = fc
  .tuple(fc.nat(6), fc.tuple(share, share, share, share), share, fc.nat(2), fc.option(position), fc.boolean())
  .map(([id, box, confidence, classId, where, isSmall]) => {
    const size = isSmall ? { width: 640, height: 360 } : { width: 1920, height: 1080 };
    const track = trackOf(id, box, { ...size, confidence, classId, className: `class ${classId}` });
    // Without the keys that have no value, as JSON.
    return JSON.parse(JSON.stringify({ ...track, ...where })) as TrackEntry;
  });

/** In the order of their times, mostly. */
export const anyMessages = fc
  .array(
    fc.record({
      stepMs: fc.oneof(fc.nat(200), fc.integer({ min: -5_000, max: 90_000 })),
      tracks: fc.array(anyTrack, { maxLength: 5 }),
      ageMs: fc.option(fc.nat(10_000), { nil: undefined }),
      /** Not as the element sends it: a number between two units, an unknown field, another source. */
      odd: fc.constantFrom("no", "no", "no", "no", "number", "field", "source"),
    }),
    { maxLength: 40 },
  )
  .map((steps) => {
    let timeMs = START_MS;
    return steps.map(({ stepMs, tracks, ageMs, odd }): DetectionMessage => {
      timeMs += stepMs;
      const message = { ...messageAt(timeMs, tracks), ...(ageMs !== undefined && { telemetry_age_ms: ageMs }) };
      if (odd === "number")
        return { ...message, active_tracks: tracks.map((track) => ({ ...track, confidence: 1 / 3 })) };
      if (odd === "field") return { ...message, more: [1] } as DetectionMessage;
      return odd === "source" ? { ...message, source_uri: "rtsp://other" } : message;
    });
  });

/** A camera that flies north, at the time of a frame of `sceneAt`. */
export const cameraAt = (frame: number, process_uuid = PROCESS): CameraMessage => ({
  ...{ timestamp: new Date(START_MS + frame * 100).toISOString(), process_uuid },
  ...{ latitude: 48 + frame * 1e-5, longitude: 11.5, altitude: 620.5, heading: 12.3 },
  footprint: [
    [48.001 + frame * 1e-5, 11.499],
    [48.001 + frame * 1e-5, 11.501],
    [48.0005, 11.5],
  ],
});
