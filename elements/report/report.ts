/**
 * Sums up every track while it lives: what it is, when it was seen, how surely, where it went, and the best picture of
 * it. Whoever follows the
 * graph hears of what is new once a second and at the end of each track, and keeps it: in the service that becomes the
 * track report and its export, on the command line the file of `--tracks`.
 */
import { Type } from "typebox";
import { MOST_PATCH_PIXELS, TRACK_REPORT_CHANNEL, type TrackReport } from "../../schemas/track-report.ts";
import { defineElement } from "../element.ts";

export default defineElement({
  kind: "transform",
  name: "report",
  about: "Sums up every track, with its path and its best picture, for the track report.",
  example: `
graph: report-example
about: Track objects, keep a point of each path every five seconds at least, and tell of every frame.
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
      description:
        "A point of a track's path is kept every so many seconds; more seldom of one that is seen for more than ten minutes.",
    }),
    pointMetres: Type.Number({
      default: 2,
      minimum: 0,
      maximum: 100_000,
      live: true,
      description:
        "And sooner when it has moved further than so many metres, and than the error of its place, up to five times a second.",
    }),
    patches: Type.Boolean({
      default: true,
      live: true,
      description: "Whether the best picture of each track is kept: cut out of the frame, as a JPEG.",
    }),
    patchPixels: Type.Integer({
      default: MOST_PATCH_PIXELS,
      minimum: 16,
      maximum: MOST_PATCH_PIXELS,
      live: true,
      description: "Its longer side has no more pixels than these; it is never made larger than it was.",
    }),
  }),
  reads: ["tracks", { optional: "places" }],
  caps: "video/x-raw",
  preload: () => import("./handler.ts"),
  async create(properties, services) {
    const { ReportHandler } = await import("./handler.ts");
    const send = (report: TrackReport) => services.send(TRACK_REPORT_CHANNEL, report);
    // Said once: what fails for one frame may fail for all.
    let isSaid = false;
    return new ReportHandler(properties, send, (error) => {
      if (!isSaid) services.log.warn("pictures of tracks cannot be taken", { reason: String(error) });
      isSaid = true;
    });
  },
});
