/** Where the camera of a process is and what it sees, computed in the runner from telemetry, calibration and terrain. */
import { type Static, Type } from "typebox";
import { Timestamp } from "./api/records.ts";

const latitude = Type.Number({ minimum: -90, maximum: 90 });
const longitude = Type.Number({ minimum: -180, maximum: 180 });

export const MAX_FOOTPRINT_POINTS = 64;

/** Written by `geolocate`, about once per second of video. */
export const CameraReport = Type.Object({
  timestamp: Timestamp,
  latitude,
  longitude,
  altitude: Type.Number({ description: "Metres above mean sea level." }),
  heading: Type.Optional(
    Type.Number({
      minimum: 0,
      maximum: 360,
      description: "Viewing direction in degrees from true north, clockwise, calibrated. Absent if it is unknown.",
    }),
  ),
  footprint: Type.Optional(
    Type.Array(
      Type.Unsafe<[latitude: number, longitude: number]>(Type.Array(Type.Number(), { minItems: 2, maxItems: 2 })),
      {
        minItems: 3,
        maxItems: MAX_FOOTPRINT_POINTS,
        description:
          "The visible ground: points of [latitude, longitude] around it, on the terrain where that is known. It ends some kilometres from the camera if the frame has the horizon. Absent without the pose of the camera, or if the frame has no ground.",
      },
    ),
  ),
});
export type CameraReport = Static<typeof CameraReport>;

export const CameraMessage = Type.Object(
  {
    ...CameraReport.properties,
    timestamp: Type.String({ description: "Capture time of the frame." }),
    process_uuid: Type.String(),
  },
  { title: "CameraMessage" },
);
export type CameraMessage = Static<typeof CameraMessage>;

/** The type of the event of `geolocate`, and the channel of a process. */
export const CAMERA_CHANNEL = "camera";
