import assert from "node:assert/strict";
import { test } from "node:test";
import { type OpenApi, writeClient } from "./write-client.ts";

const json = (schema: object) => ({ "application/json": { schema } });
const uuid = { name: "uuid", in: "path", required: true, schema: { type: "string" } };

/** One operation of each kind. */
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

test("types of the document come with what is said of them", () => {
  has('export const API_VERSION = "1.2.3";');
  has("/** One. */\nexport type Thing = {\n  readonly name?: string;\n};");
});

test("input that may be empty may be left out", () => {
  has("listThings(input: { limit?: number } = {}, call?: Call): Promise<readonly Thing[]>");
  has('{ method: "GET", path: "/things", query: ["limit"] }');
});

test("two answers of one shape are one type, and problems are none", () => {
  has("addThing(input: { body: Thing }, call?: Call): Promise<Thing>");
  has('{ method: "POST", path: "/things", bodyType: "application/json" }');
});

test("what is no JSON is handed over as it comes", () => {
  has("/** Shows it. Deprecated. */\n  seeThing(input: { uuid: string }, call?: Call): Promise<Answer>");
  has("paintThing(input: { uuid: string; body: FormData }, call?: Call): Promise<string>");
});

test("an operation without input takes none", () => {
  has("forget(call?: Call): Promise<Answer>");
});
