import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import { Ajv } from "ajv";
import addFormats from "ajv-formats";
import { describeMessages } from "./asyncapi.ts";

const schema = createRequire(import.meta.url)("@asyncapi/specs/schemas/3.0.0-without-$id.json") as object;
const document = JSON.parse(JSON.stringify(describeMessages())) as Record<string, Record<string, never>>;

test("the document is valid AsyncAPI 3.0 by the official schema", () => {
  const ajv = new Ajv({ strict: false, allErrors: true, logger: false, validateSchema: false });
  addFormats.default(ajv);
  const validate = ajv.compile(schema);
  assert.ok(validate(document), JSON.stringify(validate.errors?.slice(0, 5), null, 2));
  const wrong = { ...document, channels: { x: { address: 7 } } };
  assert.equal(validate(wrong), false);
});

test("every reference points to a part of the document", () => {
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path = ""]) => path);
  assert.ok(references.length > 20);
  const find = (path: string) =>
    path.split("/").reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], document);
  assert.deepEqual(
    references.filter((path) => find(path) === undefined),
    [],
  );
});
