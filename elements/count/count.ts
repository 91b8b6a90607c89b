/**
 * Counts objects by class: all of them, or those in a region or for which an expression holds. The position of an object is
 * the middle of the lower edge of its box. Without tracking, the count of the last inference is repeated until the next.
 */
import { Type } from "typebox";
import { ExpressionText, VALUE_NAME } from "../../schemas/expression.ts";
import { MapPoint } from "../alerts/region.ts";
import { defineElement } from "../element.ts";

export default defineElement({
  kind: "transform",
  name: "count",
  about: "Counts the objects in a frame by class, in a region or by an expression.",
  example: `
graph: count-example
about: Print a line when the number of people in the left half of the frame changes.
chains:
  main:
    - source
    - decode
    - detect
    - track
    - count: { as: people, where: "class_name == 'person'", region: [[0, 0], [0.5, 0], [0.5, 1], [0, 1]], print: true }
    - fakesink
`,
  properties: Type.Object({
    as: Type.String({
      default: "count",
      pattern: VALUE_NAME,
      description:
        "Name of the count in the metadata `counts` and in messages, and of the variable for expressions downstream: small letters, digits and _.",
    }),
    where: Type.Optional(
      ExpressionText(
        { scope: "object", result: "bool" },
        { live: true, description: "Condition on the objects to count. Default: all." },
      ),
    ),
    region: Type.Optional(
      Type.Array(MapPoint, {
        minItems: 3,
        maxItems: 100,
        live: true,
        description:
          "Corners [x, y] of a polygon, in fractions of the frame; its edge is inside. Default: the whole frame.",
      }),
    ),
    print: Type.Boolean({
      default: false,
      live: true,
      description: "Prints a line of JSON whenever the count of a class changes.",
    }),
  }),
  main: "where",
  reads: [{ oneOf: ["tracks", "detections"] }],
  writes: ["counts"],
  values: ({ as }) => [{ name: as, scope: "frame", type: "number" }],
  caps: "ANY",
  preload: () => import("./handler.ts"),
  async create(properties, services) {
    const { CountHandler } = await import("./handler.ts");
    return new CountHandler(properties, services);
  },
});
