import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type OpenApi, type Schema, writeClient, writeType } from "./write-client.ts";

const json = (schema: object) => ({ "application/json": { schema } });
const uuid = { name: "uuid", in: "path", required: true, schema: { type: "string" } };

/** One operation of each type. */
const DOCUMENT: OpenApi = {
  info: { version: "1.2.3" },
  components: { schemas: { Thing: { type: "object", description: "One.", properties: { name: { type: "string" } } } } },
  paths: {
    "/things": {
      get: {
        operationId: "listThings",
        summary: "Lists things",
        parameters: [{ name: "limit", in: "query", schema: { type: "integer" } }],
        responses: { "200": { content: json({ type: "array", items: { $ref: "#/components/schemas/Thing" } }) } },
      },
      post: {
        operationId: "addThing",
        summary: "Adds one",
        requestBody: { required: true, content: json({ $ref: "#/components/schemas/Thing" }) },
        responses: {
          "200": { content: json({ $ref: "#/components/schemas/Thing" }) },
          "201": { content: json({ $ref: "#/components/schemas/Thing" }) },
          "400": { content: { "application/problem+json": { schema: { type: "string" } } } },
        },
      },
    },
    "/thing/{uuid}/picture": {
      get: {
        operationId: "seeThing",
        summary: "Shows it",
        deprecated: true,
        parameters: [uuid],
        responses: { "200": { content: { "image/png": {} } } },
      },
      put: {
        operationId: "paintThing",
        summary: "Takes a picture",
        parameters: [uuid],
        requestBody: { required: true, content: { "multipart/form-data": {} } },
        responses: { "200": { content: { "text/plain": {} } } },
      },
    },
    "/nothing": { delete: { operationId: "forget", summary: "Forgets", responses: { "204": {} } } },
  },
};

const source = writeClient(DOCUMENT);
const has = (text: string) => assert.ok(source.includes(text), `${text}\nis not in\n${source}`);

test("writes types with their descriptions", () => {
  has('export const API_VERSION = "1.2.3";');
  has("/** One. */\nexport type Thing = {\n  readonly name?: string;\n};");
});

test("makes an input optional when all of its fields are", () => {
  has("listThings(input: { limit?: number } = {}, call?: Call): Promise<readonly Thing[]>");
  has('{ method: "GET", path: "/things", query: ["limit"] }');
});

test("merges equal response types and leaves out problems", () => {
  has("addThing(input: { body: Thing }, call?: Call): Promise<Thing>");
  has('{ method: "POST", path: "/things", bodyType: "application/json" }');
});

test("returns responses that are not JSON unchanged", () => {
  has("/** Shows it. Deprecated. */\n  seeThing(input: { uuid: string }, call?: Call): Promise<Answer>");
  has("paintThing(input: { uuid: string; body: FormData }, call?: Call): Promise<string>");
});

test("writes no input for an operation without parameters", () => {
  has("forget(call?: Call): Promise<Answer>");
});

const object = (properties: Record<string, Schema>, more: Partial<Schema> = {}): Schema => ({
  type: "object",
  properties,
  ...more,
});

describe("writes the type of", () => {
  const cases: readonly (readonly [string, Schema, string])[] = [
    ["text", { type: "string" }, "string"],
    ["a whole number", { type: "integer" }, "number"],
    ["several types", { type: ["string", "null"] }, "string | null"],
    ["an enumeration", { enum: ["a", 1, null] }, '"a" | 1 | null'],
    ["a constant", { const: true }, "true"],
    [
      "a choice, each type once",
      { anyOf: [{ type: "number" }, { type: "integer" }, { type: "null" }] },
      "number | null",
    ],
    ["a reference", { $ref: "#/components/schemas/Source" }, "Source"],
    ["a list", { type: "array", items: { type: "string" } }, "readonly string[]"],
    ["a list of choices", { type: "array", items: { enum: ["a", "b"] } }, 'readonly ("a" | "b")[]'],
    ["a list of lists", { type: "array", items: { type: "array", items: {} } }, "readonly (readonly unknown[])[]"],
    [
      "a list of fixed length",
      { type: "array", items: { type: "number" }, minItems: 2, maxItems: 2 },
      "readonly [number, number]",
    ],
    [
      "an object with any names",
      { type: "object", additionalProperties: { type: "number" } },
      "Readonly<Record<string, number>>",
    ],
    ["an empty object", object({}, { additionalProperties: false }), "Readonly<Record<string, never>>"],
    ["an empty schema", {}, "unknown"],
  ];
  for (const [name, schema, type] of cases)
    test(name, () => {
      assert.equal(writeType(schema), type);
    });

  test("an object, with required properties and descriptions", () => {
    const schema = object(
      { uuid: { type: "string", description: "Lower case */ always." }, "time-s": { type: "number" } },
      { required: ["uuid"] },
    );
    assert.equal(
      writeType(schema),
      '{\n  /** Lower case *\\/ always. */\n  readonly uuid: string;\n  readonly "time-s"?: number;\n}',
    );
  });

  test("a property that only conditions define, as a union", () => {
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
    const url = (then: Schema): Schema => ({ then: object({ url: then }) });
    const schema = object(
      { type: { type: "string" }, url: { description: "Of the type." } },
      { allOf: [url({ type: "string" }), url({ $ref: "#/a/Place" }), url({ type: "string" })] },
    );
    assert.match(writeType(schema), /readonly url\?: string \| Place;/);
  });
});
