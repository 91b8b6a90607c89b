/**
 * Evaluates alert rules on every frame that was looked at and tells what they find: crowds, crossings of a line, where one
 * track goes, tracks that match a filter. Rules go by what was really seen; where a track was only predicted, it is
 * taken to be where it was seen last. Without rules it costs nothing. Rules can change while the graph runs; those that
 * stay the same go on undisturbed.
 */
import { Type } from "typebox";
import { ALERT_CHANNEL, AlertRule, MOST_RULES } from "../../schemas/alerts.ts";
import { defineElement } from "../element.ts";

export default defineElement({
  kind: "transform",
  name: "alerts",
  about: "Tells when tracks do what its rules are about: crowd, cross a line, appear, or move on.",
  example: `
graph: alerts-example
about: Tell when three people or more stand together, and of every car that goes from left to right across the picture.
chains:
  main:
    - source
    - decode
    - detect
    - track
    - alerts:
        rules:
          - alert: crowd
            type: grid-density
            region: { type: image, polygon: [[0.1, 0.4], [0.9, 0.4], [1, 1], [0, 1]] }
            filter: { class_names: [person], min_confidence: 0.5 }
            parameters: { rows: 3, columns: 4 }
            trigger: { count: 3, for_seconds: 5, cooldown_seconds: 60 }
          - alert: gate
            type: flow-control
            region: { type: image, line: [[0.5, 1], [0.5, 0]] }
            filter: { class_names: [car] }
            trigger: { direction: forward }
    - detections
`,
  properties: Type.Object({
    rules: Type.Array(AlertRule, {
      default: [],
      maxItems: MOST_RULES,
      live: true,
      description:
        "Each with a name of its own (`alert`), its `type` (grid-density, flow-control, follow-track or filter-search) and the parts of its configuration: `trigger`, `region`, `filter`, `parameters`.",
    }),
  }),
  reads: ["tracks", { optional: "places" }],
  caps: "video/x-raw",
  preload: () => import("./handler.ts"),
  async create(properties, services) {
    const { AlertsHandler } = await import("./handler.ts");
    return new AlertsHandler(properties, (finding) => services.send(ALERT_CHANNEL, finding as never), services.log);
  },
});
