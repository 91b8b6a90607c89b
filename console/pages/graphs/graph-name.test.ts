import assert from "node:assert/strict";
import { test } from "node:test";
import { readGraphName } from "./graph-name.ts";

for (const [text, name] of [
  ["graph: gate\nchains: {}\n", "gate"],
  ["# Mine.\ngraph: 'my-gate' # a copy\n", "my-gate"],
  ["about: no name\n", null],
  ["graph: a b\n", null],
  ["chains:\n  graph: inner\n", null],
] as const)
  test(`${JSON.stringify(text)} is named ${name}`, () => assert.equal(readGraphName(text), name));
