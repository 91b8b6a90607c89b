/** The calibration of the heading of a source, by landmarks. */
import { type Static, Type } from "typebox";
import { moment, Timestamp, Uuid } from "./records.ts";

const part = (side: string) =>
  Type.Number({ minimum: 0, maximum: 1, description: `Where it is in the picture, as a fraction of its ${side}.` });

const Landmark = Type.Object(
  {
    x: part("width, from the left"),
    y: part("height, from the top"),
    timestamp: Type.Optional(
      moment("Time of the frame, as in detection messages, within the last minute. Default: the last frame."),
    ),
    latitude: Type.Number({ minimum: -90, maximum: 90, description: "Degrees, WGS-84." }),
    longitude: Type.Number({ minimum: -180, maximum: 180, description: "Degrees, WGS-84." }),
    altitude: Type.Optional(
      Type.Number({
        minimum: -12_000,
        maximum: 100_000,
        description: "Metres above mean sea level. Default: on the ground.",
      }),
    ),
  },
  { title: "Landmark", additionalProperties: false },
);

export const NewCalibration = Type.Object(
  { landmarks: Type.Array(Landmark, { minItems: 1, maxItems: 50 }) },
  { title: "NewCalibration", additionalProperties: false },
);
export type NewCalibration = Static<typeof NewCalibration>;

export const Calibration = Type.Object(
  {
    source_uuid: Uuid,
    heading_offset_deg: Type.Number({ description: "Degrees that are added to the reported heading, clockwise." }),
    heading_error_deg: Type.Number({ minimum: 0, description: "Its error in degrees, one standard deviation." }),
    landmarks: Type.Integer({ minimum: 1, description: "Number of landmarks that it was found with." }),
    calibrated_at: Timestamp,
  },
  { title: "Calibration" },
);
export type Calibration = Static<typeof Calibration>;
