/**
 * Computes values from those that elements upstream have written: for every object, or for the frame. They are part of the
 * metadata and of messages, and variables of expressions downstream.
 */
import { Type } from "typebox";
import { ExpressionText, VALUE_NAME } from "../../schemas/expression.ts";
import { defineElement } from "../element.ts";

const values = (scope: "object" | "frame", description: string) =>
  Type.Record(Type.String({ pattern: VALUE_NAME }), ExpressionText({ scope }), {
    default: {},
    maxProperties: 50,
    additionalProperties: false,
    description,
  });

export default defineElement({
  kind: "transform",
  name: "map",
  about: "Computes values for every object or for the frame, as metadata and for expressions downstream.",
  example: `
graph: map-example
about: Print tracks with their area, and whether the frame is crowded.
chains:
  main:
    - source
    - decode
    - detect
    - track
    - count: { as: people, where: "class_name == 'person'" }
    - map: { set: { area: "width * height", near: "y > 0.8" }, frame: { crowded: "people > 10" } }
    - print: { keys: [tracks, values] }
`,
  properties: Type.Object({
    set: values("object", "Values of every object: expressions by name. Names have small letters, digits and _."),
    frame: values("frame", "Values of the frame: expressions by name."),
  }),
  needs: ({ set }) => (Object.keys(set).length === 0 ? [] : [{ oneOf: ["tracks", "detections"] }]),
  reads: [{ optional: "tracks" }, { optional: "detections" }],
  values: ({ set, frame }) => [
    ...Object.entries(set).map(([name, expression]) => ({ name, scope: "object" as const, type: { expression } })),
    ...Object.entries(frame).map(([name, expression]) => ({ name, scope: "frame" as const, type: { expression } })),
  ],
  caps: "ANY",
  preload: () => import("./handler.ts"),
  async create(properties, { variables }) {
    const { MapHandler } = await import("./handler.ts");
    return new MapHandler(properties, variables);
  },
});
