/**
 * The detection message of the interface: what is told of one frame, on the `detection_data` socket, in alert notices
 * and in webhooks. Field names are the interface's.
 */
import { type Static, Type } from "typebox";

/** As a list of four and not as a tuple, which is spelt differently in the drafts of JSON Schema. */
const boxOf = (description: string) =>
  Type.Unsafe<[x: number, y: number, width: number, height: number]>({
    ...Type.Array(Type.Number(), { minItems: 4, maxItems: 4 }),
    description,
  });

export const TrackEntry = Type.Object(
  {
    track_id: Type.Integer({ minimum: 0, description: "Stays with the object; 0 when tracking is not enabled." }),
    class_id: Type.Integer({ minimum: 0 }),
    class_name: Type.String(),
    bbox: boxOf("[x, y, width, height] in pixels of the original input resolution, to a hundredth."),
    scaled_bbox: boxOf("[x, y, width, height] as fractions of the input resolution per axis, to a millionth."),
    confidence: Type.Number({ minimum: 0, maximum: 100, description: "Percent, to a hundredth." }),
    latitude: Type.Optional(Type.Number({ minimum: -90, maximum: 90, description: "Degrees, WGS-84." })),
    longitude: Type.Optional(Type.Number({ minimum: -180, maximum: 180, description: "Degrees, WGS-84." })),
    altitude: Type.Optional(Type.Number({ description: "Of the object, metres above mean sea level." })),
    distance: Type.Optional(Type.Number({ minimum: 0, description: "Metres from the observer to the object." })),
    azimuth: Type.Optional(Type.Number({ description: "Degrees from the line of sight, positive to the right." })),
    elevation: Type.Optional(Type.Number({ description: "Degrees from the line of sight, positive above it." })),
    distance_estimated: Type.Optional(
      Type.Literal(true, { description: "Ours: the distance is an estimate from the usual size of such an object." }),
    ),
    position_error_m: Type.Optional(
      Type.Number({ minimum: 0, description: "Ours: one standard deviation of the place, metres across the ground." }),
    ),
    speed_mps: Type.Optional(
      Type.Number({ minimum: 0, description: "Ours: metres a second over the ground, smoothed." }),
    ),
    heading: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: 360,
        description: "Ours: where it moves to, degrees from true north, clockwise.",
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
      description: "When the picture was taken: UTC, ISO 8601 with milliseconds.",
    }),
    source_uri: Type.String({ description: "Of the input stream, without credentials." }),
    process_uuid: Type.String(),
    active_tracks: Type.Array(TrackEntry),
    telemetry_age_ms: Type.Optional(
      Type.Number({
        minimum: 0,
        description: "Ours: how far in time the nearest telemetry lies from the picture. Not there without telemetry.",
      }),
    ),
    dropped: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: "On a socket: so many messages before this one were lost, for the client is too slow.",
      }),
    ),
  },
  { title: "DetectionMessage", additionalProperties: false },
);
export type DetectionMessage = Static<typeof DetectionMessage>;
