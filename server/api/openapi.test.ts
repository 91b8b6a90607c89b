import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import { Type } from "typebox";
import { Uuid } from "../../schemas/api/records.ts";
import type { Json, JsonRecord } from "../../schemas/json.ts";
import { openApp } from "./app.fixture.ts";
import { type AnyEndpoint, defineEndpoints } from "./endpoint.ts";
import { describeApi } from "./openapi.ts";

const Thing = Type.Object({ uuid: Uuid, size: Type.Integer({ default: 3 }) }, { title: "Thing" });
const define = defineEndpoints("Sources");
const shape = { summary: "Runs.", errors: ["source_not_found"] } as const;
const endpoints: readonly AnyEndpoint[] = [
  define("GET", "/things", "listThings", {
    ...shape,
    query: Type.Object({ limit: Type.Optional(Type.Integer({ minimum: 1, description: "Maximum number." })) }),
    answers: { 200: { description: "All.", schema: Type.Object({ things: Type.Array(Thing) }) } },
    handle: () => ({ status: 200, body: { things: [] } }),
  }),
  define("POST", "/thing/{uuid}", "makeThing", {
    ...shape,
    access: "url-key",
    isDeprecated: true,
    body: Thing,
    isBodyOptional: true,
    answers: { 201: { description: "Created.", schema: Thing }, 200: { description: "Existing.", schema: Thing } },
    handle: () => ({ status: 200, body: {} }),
  }),
  define("GET", "/thing/{uuid}", "watchThing", {
    ...shape,
    access: "optional",
    answers: { 200: { description: "Images.", mediaType: "multipart/x-mixed-replace" } },
    handle: () => ({ status: 200, body: {} }),
  }),
  define("POST", "/video", "upload", {
    ...shape,
    rawBody: { mediaType: "multipart/form-data", schema: Type.Object({ file: Type.String({ format: "binary" }) }) },
    answers: { 201: { description: "Stored.", schema: Thing } },
    handle: () => ({ status: 201, body: {} }),
  }),
];
const app = await openApp(endpoints);
after(() => app.close(0));

const document = (await (await app.call("/openapi.json")).json()) as JsonRecord;

/** The value at a path of keys. */
const at = (...keys: readonly string[]): Json | undefined =>
  keys.reduce<Json | undefined>((value, key) => (value as JsonRecord | undefined)?.[key], document);
const keysAt = (...keys: readonly string[]): readonly string[] => Object.keys(at(...keys) ?? {});

test("the document is valid OpenAPI 3.1 for an independent validator", async () => {
  const { valid, errors } = await new Validator().validate(structuredClone(document));
  assert.ok(valid, JSON.stringify(errors, null, 2));
  assert.equal(document.openapi, "3.1.0");
});

test("contains every endpoint once, with its security, body and answers", () => {
  const documents = ["/openapi.json", "/asyncapi.json", "/llms.txt", "/docs"];
  assert.deepEqual(keysAt("paths"), ["/things", "/thing/{uuid}", "/video", ...documents]);
  const thing = ["paths", "/thing/{uuid}"];
  assert.deepEqual(at(...thing, "get", "security"), [{}, { api_key: [] }, { bearer: [] }]);
  assert.deepEqual(at(...thing, "post", "security"), [
    { api_key: ["operate"] },
    { bearer: ["operate"] },
    { api_key_in_url: ["operate"] },
  ]);
  assert.equal(at(...thing, "post", "deprecated"), true);
  assert.equal(at(...thing, "post", "requestBody", "required"), false);
  assert.deepEqual(at(...thing, "post", "responses", "201", "content", "application/json", "schema"), {
    $ref: "#/components/schemas/Thing",
  });
  assert.equal(at(...thing, "get", "parameters", "0", "name"), "uuid");
  assert.deepEqual(at(...thing, "get", "responses", "200", "content"), { "multipart/x-mixed-replace": {} });
  assert.deepEqual(keysAt("paths", "/video", "post", "requestBody", "content"), ["multipart/form-data"]);
  assert.equal(at("paths", "/things", "get", "parameters", "0", "description"), "Maximum number.");
});

test("lists errors by status, with their codes", () => {
  const responses = ["paths", "/things", "get", "responses"];
  assert.match(String(at(...responses, "403", "description")), /`api_key_missing`.*`api_key_expired`/);
  assert.match(String(at(...responses, "404", "description")), /`source_not_found`/);
  assert.match(String(at(...responses, "422", "description")), /`invalid_input`/);
  assert.ok(keysAt(...responses, "429", "headers").includes("Retry-After"));
  assert.match(String(at("paths", "/video", "post", "responses", "422", "description")), /`idempotency_key_reused`/);
});

test("declares the headers of conditional and idempotent requests", () => {
  const references = (...path: string[]) => (at(...path, "parameters") as { $ref?: string }[]).map(({ $ref }) => $ref);
  assert.ok(references("paths", "/video", "post").includes("#/components/parameters/IdempotencyKey"));
  assert.ok(references("paths", "/things", "get").includes("#/components/parameters/IfNoneMatch"));
  assert.deepEqual(keysAt("paths", "/things", "get", "responses", "200", "headers"), [
    ...["ETag", "RateLimit", "RateLimit-Policy"],
  ]);
  assert.ok(keysAt("paths", "/things", "get", "responses").includes("304"));
});

test("writes schemas with a title once", () => {
  assert.deepEqual(keysAt("components", "schemas"), ["Problem", "Thing"]);
  assert.equal(at("components", "schemas", "Thing", "properties", "size", "default"), 3);
});

test("/docs loads everything from the service, and nothing else may be loaded", async () => {
  const page = await app.call("/docs");
  assert.match(page.headers.get("content-type") ?? "", /^text\/html/);
  const policy = page.headers.get("content-security-policy") ?? "";
  assert.doesNotMatch(policy, /https?:|\*/);
  const html = await page.text();
  const files = [...html.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, name = ""]) => name);
  assert.ok(files.length >= 4);
  for (const file of [...files, "docs/errors", "favicon.ico"]) {
    assert.doesNotMatch(file, /^(?:https?:)?\/\//);
    const response = await app.call(`/${file}`);
    assert.equal(response.status, 200, file);
    assert.ok((await response.text()).length > 100, file);
  }
  assert.equal((await app.call("/docs/")).url, `${app.url}/docs`);
});

test("requests that an endpoint causes are webhooks of the document, which stays valid", async () => {
  const sends = { "new-things": { description: "More of them.", schema: Thing } };
  const described = structuredClone(describeApi([{ ...(endpoints[0] as AnyEndpoint), sends }])) as JsonRecord;
  const { post } = (described.webhooks as Record<string, { post: JsonRecord }>)["new-things"] ?? assert.fail();
  const schema = { $ref: "#/components/schemas/Thing" };
  assert.deepEqual(post.requestBody, { required: true, content: { "application/json": { schema } } });
  const { valid, errors } = await new Validator().validate(described);
  assert.ok(valid, JSON.stringify(errors, null, 2));
});
