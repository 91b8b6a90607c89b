import assert from "node:assert/strict";
import { test } from "node:test";
import { checkSchema } from "../graphs/compiler/schema-check.ts";
import type { JsonRecord } from "../schemas/json.ts";
import { kebab } from "../schemas/names.ts";
import { loadElements } from "./index.ts";

const elements = await loadElements();

test("every folder is an element of its name", () => {
  for (const name of ["decode", "encode", "print", "record", "resize", "snapshot", "source", "stage"])
    assert.equal(elements.get(name)?.name, name);
});

test("all of them can be loaded", () => {
  assert.deepEqual([...(elements.broken?.values() ?? [])], []);
});

for (const [name, element] of elements) {
  test(`${name} says what it is and shows a graph that uses it`, () => {
    assert.match(element.about, /^[A-Z].*\.$/);
    assert.match(element.example, /^graph: /m);
    assert.match(element.example, new RegExp(`^ +- ${name}\\b`, "m"));
    assert.ok(Object.isFrozen(element));
  });

  test(`${name} describes each of its properties, in names a graph can spell`, () => {
    assert.deepEqual(checkSchema(element.properties as unknown as JsonRecord), []);
    const properties: Readonly<Record<string, { description?: string }>> = element.properties.properties;
    for (const [property, schema] of Object.entries(properties)) {
      assert.ok(schema.description, `${property} has no description`);
      assert.match(kebab(property), /^[a-z]+(-[a-z]+)*$/);
    }
  });
}
