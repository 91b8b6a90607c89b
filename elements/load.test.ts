import assert from "node:assert/strict";
import { test } from "node:test";
import { Type } from "typebox";
import { compile } from "../graphs/compiler/compile.ts";
import { defineElement } from "./element.ts";
import { loadElements } from "./index.ts";

const good = defineElement({
  ...{ name: "good", about: "Good.", example: "", kind: "sink", caps: "ANY" },
  properties: Type.Object({}),
  create: () => ({ process() {} }),
});

const found = (name: string, load: () => Promise<unknown>) => ({ name, file: `elements/${name}/${name}.ts`, load });
const failing = (name: string, error: unknown) => found(name, () => Promise.reject(error));
const exporting = (name: string, value: unknown) => found(name, async () => ({ default: value }));

const MISSING = Object.assign(new Error("Cannot find package 'left-pad' imported from /there/f.ts"), {
  code: "ERR_MODULE_NOT_FOUND",
});

const loaded = await loadElements([
  exporting("good", good),
  found("none", async () => ({})),
  exporting("number", 42),
  exporting("null", null),
  exporting("other", { ...good, name: "another" }),
  exporting("partial", { name: "partial", kind: "sink" }),
  failing("syntax", new Error("Transform failed with 1 error:\nelements/syntax/syntax.ts:3:11: ERROR: Expected ;")),
  failing("missing", MISSING),
  failing("thrown", "a string"),
]);

test("loads valid elements beside broken ones", () => {
  assert.deepEqual([...loaded.keys()], ["good"]);
});

for (const [name, place, reason] of [
  ["none", "elements/none/none.ts", /no default export; expected `export default defineElement/],
  ["number", "elements/number/number.ts", /the default export is not an element/],
  ["null", "elements/null/null.ts", /the default export is not an element/],
  ["other", "elements/other/other.ts", /is named "another"; expected .*name: "other"/],
  ["partial", "elements/partial/partial.ts", /no valid about, properties, caps, create/],
  ["syntax", "elements/syntax/syntax.ts:3:12", /^Expected ;$/],
  ["missing", "/there/f.ts", /imports the package "left-pad", which does not exist/],
  ["thrown", "elements/thrown/thrown.ts", /threw a string/],
] as const)
  test(`reports place and reason of a broken element (${name})`, () => {
    const broken = loaded.broken?.get(name);
    assert.equal(broken?.place, place);
    assert.match(broken?.reason ?? "", reason);
  });

test("a graph that names a broken element is rejected with the reason, on its line", () => {
  const text = "graph: g\nchains:\n  main:\n    - syntax\n";
  const registry = { list: () => [], get: () => undefined };
  const { faults } = compile({ file: "g.yaml", text }, { elements: loaded, registry });
  assert.deepEqual(
    faults.map(({ at, message }) => `${at.line}:${at.column} ${message}`),
    ['4:7 the element "syntax" could not be loaded: elements/syntax/syntax.ts:3:12: Expected ;'],
  );
});
