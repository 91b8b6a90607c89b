import assert from "node:assert/strict";
import { test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { JsonRecord } from "../../schemas/json.ts";
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
