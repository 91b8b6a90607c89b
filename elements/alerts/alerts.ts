/**
 * Evaluates alert rules on every frame on which inference ran and sends an event for each match: crowds, line crossings,
 * the position of one track, tracks that match a filter. Rules use real detections: a track that is only predicted stays
 * where it was last detected. Without rules the element costs nothing. Rules are mutable while PLAYING; unchanged rules
 * keep their state.
 */
import { Type } from "typebox";
import { AlertRule, MOST_RULES } from "../../schemas/alerts.ts";
import { defineElement } from "../element.ts";

export default defineElement({
  kind: "transform",
  name: "alerts",
  about: "Sends alert events when tracks match its rules: crowds, line crossings, new tracks, positions.",
  example: `
graph: alerts-example
about: Notify when three or more people stand together, and of every car that crosses the picture from left to right.
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
        "Alert rules. Each has a unique name (`alert`), a `type` (`GET /alert_description` lists them) and its configuration: `trigger`, `region`, `filter`, `parameters`.",
    }),
  }),
  reads: ["tracks", { optional: "places" }],
  caps: "video/x-raw",
  preload: () => import("./handler.ts"),
  async create(properties, services) {
    const { AlertsHandler } = await import("./handler.ts");
    return new AlertsHandler(properties, services);
  },
});
