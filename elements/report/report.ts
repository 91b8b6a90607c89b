/**
 * Summarises every track: class, times, confidence, path and best image. Sends changes once per second and at the
 * end of each track. The service stores it as the track report and its export, the command line in the file of `--tracks`.
 */
import { Type } from "typebox";
import { MOST_PATCH_PIXELS, TRACK_REPORT_CHANNEL, type TrackReport } from "../../schemas/track-report.ts";
import { defineElement } from "../element.ts";

export default defineElement({
  kind: "transform",
  name: "report",
  about: "Summarises every track, with path and best image, for the track report.",
  example: `
graph: report-example
about: Track objects, keep a point of each path at least every five seconds, and send a message for every frame.
chains:
  main:
    - source
    - decode
    - detect
    - track
    - report: { point-seconds: 5, point-metres: 10 }
    - detections
`,
  properties: Type.Object({
    pointSeconds: Type.Number({
      default: 1,
      minimum: 0.2,
      maximum: 3600,
      live: true,
      description: "Maximum time between two points of a path in seconds; longer for tracks of more than ten minutes.",
    }),
    pointMetres: Type.Number({
      default: 2,
      minimum: 0,
      maximum: 100_000,
      live: true,
      description:
        "Keeps a point earlier if the object moved further than this distance and than its position error, up to five points per second.",
    }),
    patches: Type.Boolean({
      default: true,
      live: true,
      description: "Keep the best image of each track: cropped from the frame, as JPEG.",
    }),
    patchPixels: Type.Integer({
      default: MOST_PATCH_PIXELS,
      minimum: 16,
      maximum: MOST_PATCH_PIXELS,
      live: true,
      description: "Maximum length of the longer side of the image in pixels; images are never upscaled.",
    }),
  }),
  reads: ["tracks", { optional: "places" }],
  caps: "video/x-raw",
  preload: () => import("./handler.ts"),
  async create(properties, services) {
    const { ReportHandler } = await import("./handler.ts");
    const send = (report: TrackReport) => services.send(TRACK_REPORT_CHANNEL, report);
    // Logged once: it may fail for every frame.
    let isLogged = false;
    return new ReportHandler(properties, send, (error) => {
      if (!isLogged) services.log.warn("track image failed", { reason: String(error) });
      isLogged = true;
    });
  },
});
