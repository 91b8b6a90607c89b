/** Tracks of a process as files for maps and tables. */
import { Type } from "typebox";
import { Timestamp } from "./records.ts";

export const EXPORT_FORMATS = ["geojson", "kml", "csv"] as const;
export const ABOUT_EXPORTS =
  "`geojson` (RFC 7946): a feature for every track, with its path as a LineString, or a Point; cut in two where it crosses the 180th meridian; its geometry is null where nobody knows where it was. `kml` (2.2): a placemark for every track that has a place. `csv` (RFC 4180, with a header): a line for every point, its coordinates empty where there are none; text that a spreadsheet would take for a formula has an apostrophe ahead.";

const orNull = <T extends Parameters<typeof Type.Union>[0][number]>(type: T) => Type.Union([type, Type.Null()]);
const Position = Type.Array(Type.Number(), {
  minItems: 3,
  maxItems: 3,
  description: "Longitude and latitude in degrees (WGS-84), and altitude in metres above mean sea level.",
});
const Line = Type.Array(Position, { minItems: 2 });
const Percent = Type.Number({ minimum: 0, maximum: 100 });

const Geometry = Type.Union([
  Type.Object({ type: Type.Literal("Point"), coordinates: Position }),
  Type.Object({ type: Type.Literal("LineString"), coordinates: Line }),
  Type.Object({ type: Type.Literal("MultiLineString"), coordinates: Type.Array(Line) }),
]);

const TrackFeature = Type.Object({
  type: Type.Literal("Feature"),
  id: Type.Integer({ minimum: 1 }),
  geometry: orNull(Geometry),
  properties: Type.Object({
    track_id: Type.Integer({ minimum: 1 }),
    class_id: Type.Integer({ minimum: 0 }),
    class_name: Type.String(),
    first_seen: Timestamp,
    last_seen: Timestamp,
    is_live: Type.Boolean({ description: "It was on the picture when this was asked for." }),
    sightings: Type.Integer({ minimum: 1, description: "Frames in which it was detected." }),
    max_confidence: Percent,
    mean_confidence: Percent,
    min_confidence: Percent,
    bbox_pixels: Type.Array(Type.Number(), {
      minItems: 4,
      maxItems: 4,
      description: "The last one: [x, y, width, height] in the original resolution.",
    }),
    speed_mps: orNull(Type.Number({ minimum: 0, description: "The last that is known, metres a second." })),
    heading: orNull(Type.Number({ minimum: 0, maximum: 360, description: "Degrees from true north, clockwise." })),
    position_error_m: orNull(
      Type.Number({ minimum: 0, description: "Of the last place: one standard deviation across the ground." }),
    ),
    times: Type.Unknown({ description: "A time for every position, in lists of the shape of `coordinates`." }),
  }),
});

export const TrackCollection = Type.Object(
  {
    type: Type.Literal("FeatureCollection"),
    name: Type.String({ description: "What the process ran on." }),
    process_uuid: Type.String(),
    features: Type.Array(TrackFeature),
  },
  { title: "TrackCollection" },
);
