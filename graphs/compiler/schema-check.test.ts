import assert from "node:assert/strict";
import { test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { loadElements } from "../../elements/index.ts";
import type { Json, JsonRecord } from "../../schemas/json.ts";
import { fillDefaults, fits } from "../../schemas/plain-schema.ts";
import { checkSchema } from "./schema-check.ts";

const meta = new Ajv2020({ strict: false, logger: false });

const ODD: readonly unknown[] = [
  ...[{}, [], ["string"], [["string"]], ["string", "string"], ["string", "text"], "", "string", "text", null, true],
  ...[0, 1, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, { type: "string" }, { type: "text" }, [{}], [{ type: 1 }]],
];
const KEYWORDS = [
  ...["type", "const", "default", "examples", "title", "description", "minimum", "maximum"],
  ...["minLength", "maxLength", "minItems", "maxItems", "items", "anyOf"],
];

for (const keyword of KEYWORDS)
  test(`${keyword}: a schema is well formed exactly when the meta-schema says so`, () => {
    for (const value of ODD) {
      const schema = { [keyword]: value } as JsonRecord;
      const isWellFormed = meta.validateSchema(schema) === true;
      assert.equal(checkSchema(schema).length === 0, isWellFormed, JSON.stringify(schema));
    }
  });

const OPTIONS = { strict: false, validateFormats: false, logger: false } as const;

test("a value that certainly fits is valid by ajv, and values of plain schemas are decided", () => {
  const ajv = new Ajv2020(OPTIONS);
  const schemas: readonly JsonRecord[] = [
    ...["string", "number", "integer", "boolean", "array", "object", "null"].map((type) => ({ type })),
    ...[{ type: ["string", "null"] }, { const: 1 }, { const: "text" }, { enum: [1, "text", null] }, { minimum: 1 }],
    ...[{ maximum: 0 }, { exclusiveMinimum: 0 }, { exclusiveMaximum: 1 }, { minLength: 1 }, { maxLength: 3 }],
    ...[{ minItems: 1 }, { maxItems: 0 }, { items: { type: "string" } }, { anyOf: [{ type: "string" }, { const: 1 }] }],
    { type: "object", properties: { a: { type: "integer" } }, required: ["a"], additionalProperties: false },
    ...[{ pattern: "^a" }, { patternProperties: { "^a": { type: "integer" } } }, { additionalProperties: true }],
    { properties: { a: { anyOf: [{ type: "null" }, { type: "array", items: { minimum: 1 } }] } } },
  ];
  const values = [
    // Not JSON: left to ajv.
    ...ODD.filter((value) => typeof value !== "number" || Number.isFinite(value)),
    "\u{1F600}\u{1F600}",
    ["a"],
    [1, "a"],
    { a: 1 },
    { a: 1.5 },
    { a: 1, b: 2 },
    { a: null },
    { a: [1] },
  ];
  for (const schema of schemas)
    for (const value of values as Json[])
      assert.equal(
        fits(schema, value),
        ajv.validate(schema, value),
        `${JSON.stringify(schema)}: ${JSON.stringify(value)}`,
      );
});

test("a keyword that is not understood is left to ajv", () => {
  for (const schema of [
    { not: {} },
    { $ref: "#/x" },
    { properties: { a: { pattern: "(" } } },
    { dependentRequired: {} },
  ])
    for (const value of [{ a: "a" }, ["a"]])
      assert.equal(fits({ anyOf: [schema, { type: "null" }] }, value), "properties" in schema && Array.isArray(value));
  assert.equal(fits({ pattern: "^a*$" }, "a".repeat(5000)), false);
});

test("defaults are those that ajv fills in, for every element", async () => {
  const ajv = new Ajv2020({ ...OPTIONS, useDefaults: true });
  for (const [name, { properties }] of await loadElements())
    for (const given of [{}, Object.fromEntries(Object.keys(properties.properties).map((key) => [key, {}]))]) {
      const expected = structuredClone(given);
      ajv.validate(properties, expected);
      assert.deepEqual(fillDefaults(properties, given), expected, name);
    }
});
