/**
 * A GeoJSON validator written from RFC 7946 alone, independent of the implementation: https://www.rfc-editor.org/rfc/rfc7946.
 * Covers only the geometry types of a path. `readGeoJson` adds the rules that a schema cannot express.
 */
import assert from "node:assert/strict";
import { Ajv2020 } from "ajv/dist/2020.js";

/** 3.1.1: at least two numbers, longitude and latitude; a third is the altitude; more SHOULD NOT be. */
const position = {
  type: "array",
  prefixItems: [
    { type: "number", minimum: -180, maximum: 180 },
    { type: "number", minimum: -90, maximum: 90 },
    { type: "number" },
  ],
  items: false,
  minItems: 2,
};
/** 3.1.4: two or more positions. */
const line = { type: "array", items: position, minItems: 2 };

/** 7.1: none of them has the defining members of another type. */
const foreign = { coordinates: false, geometries: false, geometry: false, properties: false, features: false };
const geometryOf = (type: string, coordinates: object) => ({
  type: "object",
  required: ["type", "coordinates"],
  properties: { ...foreign, type: { const: type }, coordinates },
});

const schema = {
  type: "object",
  required: ["type", "features"],
  properties: {
    ...foreign,
    type: { const: "FeatureCollection" },
    // 4: the old member `crs` is not to be used.
    crs: false,
    features: {
      type: "array",
      items: {
        type: "object",
        // 3.2: a feature has all three, and its geometry is null when it is unlocated.
        required: ["type", "geometry", "properties"],
        properties: {
          ...foreign,
          type: { const: "Feature" },
          id: { type: ["string", "number"] },
          properties: { type: ["object", "null"] },
          geometry: {
            oneOf: [
              { type: "null" },
              geometryOf("Point", position),
              geometryOf("LineString", line),
              geometryOf("MultiLineString", { type: "array", items: line }),
            ],
          },
        },
      },
    },
  },
};

const validate = new Ajv2020({ strict: false, allErrors: true }).compile(schema);

interface Geometry {
  readonly type: "Point" | "LineString" | "MultiLineString";
  readonly coordinates: unknown;
}

export interface Feature {
  readonly geometry: Geometry | null;
  readonly properties: Readonly<Record<string, unknown>> & { readonly track_id: number; readonly times: unknown };
}

/** Throws with the rules that are violated. */
export function readGeoJson(text: string): readonly Feature[] {
  const collection: unknown = JSON.parse(text);
  assert.ok(validate(collection), JSON.stringify(validate.errors?.slice(0, 3)));
  const { features } = collection as { features: readonly Feature[] };
  for (const { geometry } of features) {
    const lines =
      geometry?.type === "LineString"
        ? [geometry.coordinates]
        : geometry?.type === "MultiLineString"
          ? geometry.coordinates
          : [];
    // 3.1.9: a geometry that crosses the antimeridian SHOULD be cut in two.
    for (const line of lines as number[][][])
      for (const [i, [longitude = 0]] of line.entries())
        assert.ok(i === 0 || Math.abs(longitude - (line[i - 1]?.[0] ?? 0)) <= 180, "a line around the globe");
  }
  return features;
}
