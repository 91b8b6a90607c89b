import assert from "node:assert/strict";
import { test } from "node:test";
import { compareDocuments, type OpenApiDocument } from "./openapi-changes.ts";

interface Part {
  readonly body?: object;
  readonly answer?: object;
  readonly parameters?: readonly object[];
  readonly status?: string;
}

/** One operation. */
const make = ({ body, answer = {}, parameters = [], status = "200" }: Part): OpenApiDocument =>
  ({
    paths: {
      "/a": {
        post: {
          parameters,
          ...(body !== undefined && { requestBody: { content: { "application/json": { schema: body } } } }),
          responses: { [status]: { content: { "application/json": { schema: answer } } } },
        },
      },
    },
    components: { schemas: { Self: { type: "object", properties: { next: { $ref: "#/components/schemas/Self" } } } } },
  }) as unknown as OpenApiDocument;

const object = (properties: object, required: readonly string[] = [], more = {}) => ({
  ...{ type: "object", properties, required, ...more },
});
const text = { type: "string" };
const self = { $ref: "#/components/schemas/Self" };

const BREAKING: readonly (readonly [name: string, before: Part, after: Part, expected: string])[] = [
  ["a removed field of an answer", { answer: object({ a: text }) }, { answer: object({}) }, "200/a removed"],
  [
    "a field of an answer that can be absent",
    { answer: object({ a: text }, ["a"]) },
    { answer: object({ a: text }) },
    "200/a can be absent",
  ],
  [
    "an answer of another type",
    { answer: object({ a: text }) },
    { answer: object({ a: { anyOf: [text, { type: "null" }] } }) },
    "200/a can now be null",
  ],
  ["a removed status", { status: "201" }, { status: "200" }, "status 201 removed"],
  [
    "a new required field of a body",
    { body: object({ a: text }) },
    { body: object({ a: text, b: text }, ["b"]) },
    "body/b is required",
  ],
  ["a removed field of a body", { body: object({ a: text }) }, { body: object({}) }, "body/a removed"],
  [
    "a removed value",
    { body: object({ a: { enum: ["x", "y"] } }) },
    { body: object({ a: { enum: ["x"] } }) },
    'body/a: value "y" removed',
  ],
  [
    "a smaller limit",
    { body: object({ a: { type: "string", maxLength: 9 } }) },
    { body: object({ a: { type: "string", maxLength: 8 } }) },
    "body/a: maxLength 8, was 9",
  ],
  [
    "unknown fields that were accepted",
    { body: object({}) },
    { body: object({}, [], { additionalProperties: false }) },
    "body: unknown fields are rejected",
  ],
  [
    "a body that must be a string instead of any number",
    { body: object({ a: { type: "number" } }) },
    { body: object({ a: { type: "integer" } }) },
    "body/a cannot be number",
  ],
  [
    "a new required parameter",
    {},
    { parameters: [{ name: "q", in: "query", required: true, schema: text }] },
    "query q is required",
  ],
  ["a removed parameter", { parameters: [{ name: "q", in: "query", schema: text }] }, {}, "query q removed"],
];

for (const [name, before, after, expected] of BREAKING)
  test(`finds ${name}`, () => {
    assert.deepEqual(compareDocuments(make(before), make(after)).breaking, [`POST /a: ${expected}`]);
    assert.deepEqual(compareDocuments(make(before), make(before)).breaking, []);
  });

test("a removed operation is found, and a new one is additive", () => {
  const none: OpenApiDocument = { paths: {} };
  assert.deepEqual(compareDocuments(make({}), none), { breaking: ["POST /a: removed"], added: [] });
  assert.deepEqual(compareDocuments(none, make({})), { breaking: [], added: ["POST /a"] });
});

test("new optional input, new fields and values of answers, and wider limits are additive", () => {
  const before = make({
    body: object({ a: { type: "integer", maximum: 5 } }),
    answer: object({ state: { enum: ["x"] }, self }, ["state"]),
  });
  const after = make({
    body: object({ a: { type: "number", maximum: 6 }, b: text }),
    answer: object({ state: { enum: ["x", "y"] }, self, more: text }, ["state", "more"]),
    parameters: [{ name: "q", in: "query", schema: text }],
  });
  assert.deepEqual(compareDocuments(before, after), {
    breaking: [],
    added: ["POST /a: query q", "POST /a: body/b", 'POST /a: 200/state: value "y"', "POST /a: 200/more"],
  });
});
