/**
 * Joins telemetry to frames by time. Samples arrive from outside at their own rate; a frame gets the values at its capture
 * time: interpolated between two samples, extrapolated for a while after the last one. The offset between the two clocks
 * is set or estimated. Without telemetry it writes nothing.
 */
import { Type } from "typebox";
import { defineElement } from "../element.ts";

export default defineElement({
  kind: "transform",
  name: "telemetry",
  about: "Adds the position and attitude of the camera at the capture time of the frame.",
  example: `
graph: telemetry-example
about: Print the telemetry of every frame; run it with --telemetry FILE.
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
        "Added to the times of telemetry to get the time of the video. auto treats clocks that differ by less than 1.5 s as equal, estimates larger offsets of telemetry and video clocks by arrival times, and refines the result by comparing the rotation of the image with telemetry.",
    }),
    join: Type.Enum(["interpolate", "latest"], {
      default: "interpolate",
      live: true,
      description: "latest uses the last sample before the frame unchanged: less accurate, for comparison.",
    }),
    extrapolateMs: Type.Integer({
      default: 3000,
      minimum: 0,
      maximum: 60_000,
      live: true,
      description: "Time after the last sample for which position and attitude are extrapolated.",
    }),
    waitMs: Type.Integer({
      default: 0,
      minimum: 0,
      maximum: 5000,
      description: "Time for which a live frame waits for the next sample: trades latency for accuracy.",
    }),
    cameraMotion: Type.Boolean({
      default: true,
      live: true,
      description: "Also write the motion of the image since the previous frame, if telemetry is frequent enough.",
    }),
  }),
  writes: ["telemetry", "cameraMotion"],
  wholeFrame: true,
  caps: "ANY",
  inFlight: 64,
  preload: () => import("./handler.ts"),
  async create(properties, services) {
    const { TelemetryHandler } = await import("./handler.ts");
    return new TelemetryHandler(properties, services);
  },
});
