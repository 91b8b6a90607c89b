/**
 * The detection message of the API: the objects of one frame, on the `detection_data` socket, in alert notifications and
 * in webhooks. Field names are those of the API.
 */
import { type Static, Type } from "typebox";
import { type Box, Counts, type Detection, type Track, Values } from "./detections.ts";
import type { Place } from "./places.ts";

/** A list of four instead of a tuple, whose syntax differs between the drafts of JSON Schema. */
const boxOf = (description: string) =>
  Type.Unsafe<[x: number, y: number, width: number, height: number]>({
    ...Type.Array(Type.Number(), { minItems: 4, maxItems: 4 }),
    description,
  });

export const TrackEntry = Type.Object(
  {
    track_id: Type.Integer({ minimum: 0, description: "Constant for an object; 0 without tracking." }),
    class_id: Type.Integer({ minimum: 0 }),
    class_name: Type.String(),
    bbox: boxOf("[x, y, width, height] in pixels of the original input resolution, to a hundredth."),
    scaled_bbox: boxOf("[x, y, width, height] as fractions of the input resolution per axis, to a millionth."),
    confidence: Type.Number({ minimum: 0, maximum: 100, description: "Percent, to a hundredth." }),
    latitude: Type.Optional(Type.Number({ minimum: -90, maximum: 90, description: "Degrees, WGS-84." })),
    longitude: Type.Optional(Type.Number({ minimum: -180, maximum: 180, description: "Degrees, WGS-84." })),
    altitude: Type.Optional(Type.Number({ description: "Altitude of the object in metres above mean sea level." })),
    distance: Type.Optional(Type.Number({ minimum: 0, description: "Metres from the camera to the object." })),
    azimuth: Type.Optional(Type.Number({ description: "Degrees from the line of sight, positive to the right." })),
    elevation: Type.Optional(Type.Number({ description: "Degrees from the line of sight, positive above it." })),
    distance_estimated: Type.Optional(
      Type.Literal(true, {
        description: "Extension: the distance is estimated from the typical size of the object's class.",
      }),
    ),
    position_error_m: Type.Optional(
      Type.Number({
        minimum: 0,
        description: "Extension: one standard deviation of the position on the ground, in metres.",
      }),
    ),
    speed_mps: Type.Optional(
      Type.Number({ minimum: 0, description: "Extension: smoothed ground speed in metres per second." }),
    ),
    heading: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: 360,
        description: "Extension: direction of motion, degrees from true north, clockwise.",
      }),
    ),
    values: Type.Optional(
      Type.Unsafe<Values>({
        ...Values,
        description: "Extension: values that the graph computes for the object, by name; null if unknown.",
      }),
    ),
  },
  { title: "TrackEntry", additionalProperties: false },
);
export type TrackEntry = Static<typeof TrackEntry>;

export const DetectionMessage = Type.Object(
  {
    timestamp: Type.String({
      pattern: "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$",
      description: "Capture time of the frame: UTC, ISO 8601 with milliseconds.",
    }),
    source_uri: Type.String({ description: "URI of the input, without credentials." }),
    process_uuid: Type.String(),
    active_tracks: Type.Array(TrackEntry),
    telemetry_age_ms: Type.Optional(
      Type.Number({
        minimum: 0,
        description: "Extension: time between the frame and the nearest telemetry. Absent without telemetry.",
      }),
    ),
    values: Type.Optional(
      Type.Unsafe<Values>({
        ...Values,
        description: "Extension: values that the graph computes for the frame, by name.",
      }),
    ),
    counts: Type.Optional(
      Type.Unsafe<Counts>({
        ...Counts,
        description: "Extension: objects that the graph counts, by the name of the count.",
      }),
    ),
    dropped: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: "On a websocket: number of messages lost before this one because the client reads too slowly.",
      }),
    ),
  },
  { title: "DetectionMessage", additionalProperties: false },
);
export type DetectionMessage = Static<typeof DetectionMessage>;

/** The entry of an object from the frame metadata, for messages, notifications and webhooks. Unknown values are omitted. */
export function describeTrack(object: Detection | Track, place: Place | null, inputSize: PictureSize): TrackEntry {
  const entry = describe(object, inputSize);
  if (place !== null) addPlace(entry, place);
  if (object.values !== undefined) entry.values = object.values;
  return entry;
}

interface PictureSize {
  readonly width: number;
  readonly height: number;
}

function describe(object: Detection | Track, { width, height }: PictureSize): TrackEntry {
  const [x, y, wide, high] = object.box;
  return {
    track_id: "id" in object ? object.id : 0,
    class_id: object.classId,
    class_name: object.className,
    bbox: round([x * width, y * height, wide * width, high * height], 100),
    scaled_bbox: round(object.box, 1_000_000),
    confidence: Math.round(object.confidence * 10_000) / 100,
  };
}

function addPlace(entry: TrackEntry, { spot, distance, azimuth, elevation, isDistanceEstimated }: Place): void {
  if (spot !== null) {
    entry.latitude = part(spot.latitude, PARTS_OF_DEGREE);
    entry.longitude = part(spot.longitude, PARTS_OF_DEGREE);
    entry.altitude = part(spot.altitude, PARTS_OF_METRE);
  }
  if (distance !== null) entry.distance = part(distance, PARTS_OF_METRE);
  entry.azimuth = part(azimuth, PARTS_OF_ANGLE);
  entry.elevation = part(elevation, PARTS_OF_ANGLE);
  if (isDistanceEstimated) entry.distance_estimated = true;
  if (spot === null) return;
  entry.position_error_m = part(spot.errorM, PARTS_OF_METRE);
  if (spot.speedMps !== null) entry.speed_mps = part(spot.speedMps, PARTS_OF_METRE);
  // 359.9999 becomes 0, not 360.
  if (spot.heading !== null) entry.heading = part(spot.heading, PARTS_OF_ANGLE) % 360;
}

/** 1e-7 degrees are a centimetre on the ground. */
const PARTS_OF_DEGREE = 10_000_000;
const PARTS_OF_METRE = 100;
const PARTS_OF_ANGLE = 1000;

/** Rounds to a fraction of one: short numbers, the same on every machine, never negative zero. */
const part = (value: number, parts: number): number => Math.round(value * parts) / parts + 0;

const round = (box: Box, parts: number): Box => box.map((value) => part(value, parts)) as Box;
