import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Schema, writeType } from "./write-types.ts";

const object = (properties: Record<string, Schema>, more: Partial<Schema> = {}): Schema => ({
  type: "object",
  properties,
  ...more,
});

describe("a schema becomes a type", () => {
  const cases: readonly (readonly [string, Schema, string])[] = [
    ["text", { type: "string" }, "string"],
    ["a whole number", { type: "integer" }, "number"],
    ["several types", { type: ["string", "null"] }, "string | null"],
    ["what is listed", { enum: ["a", 1, null] }, '"a" | 1 | null'],
    ["one value", { const: true }, "true"],
    [
      "a choice, each type once",
      { anyOf: [{ type: "number" }, { type: "integer" }, { type: "null" }] },
      "number | null",
    ],
    ["a name", { $ref: "#/components/schemas/Source" }, "Source"],
    ["a list", { type: "array", items: { type: "string" } }, "readonly string[]"],
    ["a list of choices", { type: "array", items: { enum: ["a", "b"] } }, 'readonly ("a" | "b")[]'],
    ["a list of lists", { type: "array", items: { type: "array", items: {} } }, "readonly (readonly unknown[])[]"],
    [
      "a list of fixed length",
      { type: "array", items: { type: "number" }, minItems: 2, maxItems: 2 },
      "readonly [number, number]",
    ],
    ["any names", { type: "object", additionalProperties: { type: "number" } }, "Readonly<Record<string, number>>"],
    ["no names at all", object({}, { additionalProperties: false }), "Readonly<Record<string, never>>"],
    ["nothing said", {}, "unknown"],
  ];
  for (const [name, schema, type] of cases)
    test(name, () => {
      assert.equal(writeType(schema), type);
    });

  test("an object, with what must be there and what is said of it", () => {
    const schema = object(
      { uuid: { type: "string", description: "Lower case */ always." }, "time-s": { type: "number" } },
      { required: ["uuid"] },
    );
    assert.equal(
      writeType(schema),
      '{\n  /** Lower case *\\/ always. */\n  readonly uuid: string;\n  readonly "time-s"?: number;\n}',
    );
  });

  test("what only conditions tell of is one of what they say", () => {
    // biome-ignore lint/suspicious/noThenProperty: it is what JSON Schema calls it.
    const url = (then: Schema): Schema => ({ then: object({ url: then }) });
    const schema = object(
      { type: { type: "string" }, url: { description: "Of the type." } },
      { allOf: [url({ type: "string" }), url({ $ref: "#/a/Place" }), url({ type: "string" })] },
    );
    assert.match(writeType(schema), /readonly url\?: string \| Place;/);
  });
});
