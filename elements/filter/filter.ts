/**
 * Keeps the objects for which an expression holds, and drops the others from the metadata of the frame. Frames always pass.
 * Elements upstream decide which variables there are: `speed_mps` needs `geolocate`. An unknown number fulfils no
 * comparison.
 */
import { Type } from "typebox";
import { ExpressionText } from "../../schemas/expression.ts";
import { defineElement } from "../element.ts";

export default defineElement({
  kind: "transform",
  name: "filter",
  about: "Keeps the detections and tracks for which an expression holds.",
  example: `
graph: filter-example
about: Print the tracks of large, certain cars.
chains:
  main:
    - source
    - decode
    - detect
    - track
    - filter: "class_name == 'car' && confidence > 0.6 && width * height > 0.01"
    - print: { keys: [tracks] }
`,
  properties: Type.Object({
    where: ExpressionText(
      { scope: "object", result: "bool" },
      {
        live: true,
        description: "Condition on an object, such as `class_name == 'car' && age_s > 2`.",
      },
    ),
  }),
  main: "where",
  reads: [{ oneOf: ["tracks", "detections"] }],
  caps: "ANY",
  preload: () => import("./handler.ts"),
  async create(properties, { variables }) {
    const { FilterHandler } = await import("./handler.ts");
    return new FilterHandler(properties, variables);
  },
});
