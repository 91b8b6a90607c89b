/**
 * Joins telemetry to frames by time. Samples come from outside at their own pace; a frame gets what held when it was taken:
 * between two samples what lies between them, and after the last one what should hold by then, for a while. The offset
 * between the two clocks is set or estimated. Without telemetry it writes nothing.
 */
import { Type } from "typebox";
import { defineElement } from "../element.ts";

export default defineElement({
  kind: "transform",
  name: "telemetry",
  about: "Tells where the camera was and how it looked when the frame was taken.",
  example: `
graph: telemetry-example
about: What telemetry says of every frame; run it with --telemetry FILE.
chains:
  main:
    - source
    - decode
    - telemetry: { offset-ms: 0 }
    - print: { keys: [telemetry, cameraMotion] }
`,
  properties: Type.Object({
    offsetMs: Type.Union([Type.Literal("auto"), Type.Number({ minimum: -1e13, maximum: 1e13 })], {
      default: "auto",
      live: true,
      description:
        "Added to the times of telemetry to get the time of the video. auto takes clocks that differ by less than a second and a half for the same, measures by arrivals those that differ by more, the one of the video too, and corrects that by how the picture turns.",
    }),
    join: Type.Enum(["interpolate", "latest"], {
      default: "interpolate",
      live: true,
      description: "latest takes the last sample before the frame as it is: worse, and there for comparison.",
    }),
    extrapolateMs: Type.Integer({
      default: 3000,
      minimum: 0,
      maximum: 60_000,
      live: true,
      description: "For so long after the last sample a place and an attitude are still told.",
    }),
    waitMs: Type.Integer({
      default: 0,
      minimum: 0,
      maximum: 5000,
      description: "For so long a live frame is held for the sample after it: latency for accuracy.",
    }),
    cameraMotion: Type.Boolean({
      default: true,
      live: true,
      description:
        "Also tell how the picture has moved since the frame before, where telemetry is dense enough for it.",
    }),
  }),
  writes: ["telemetry", "cameraMotion"],
  caps: "ANY",
  inFlight: 64,
  preload: () => import("./handler.ts"),
  async create(properties, services) {
    const { TelemetryHandler } = await import("./handler.ts");
    return new TelemetryHandler(properties, services);
  },
});
