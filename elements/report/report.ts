/**
 * Sums up every track while it lives: what it is, when it was seen, how surely, and where it went. Whoever follows the
 * graph hears of what is new once a second and at the end of each track, and keeps it: in the service that becomes the
 * track report and its export, on the command line the file of `--tracks`.
 */
import { Type } from "typebox";
import { TRACK_REPORT_CHANNEL } from "../../schemas/track-report.ts";
import { defineElement } from "../element.ts";

export default defineElement({
  kind: "transform",
  name: "report",
  about: "Sums up every track, with its path, for the track report.",
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
  }),
  reads: ["tracks", { optional: "places" }],
  caps: "video/x-raw",
  preload: () => import("./handler.ts"),
  async create(properties, services) {
    const { ReportHandler } = await import("./handler.ts");
    return new ReportHandler(properties, (report) => services.send(TRACK_REPORT_CHANNEL, report));
  },
});
