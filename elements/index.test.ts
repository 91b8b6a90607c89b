import assert from "node:assert/strict";
import { test } from "node:test";
import { checkSchema } from "../graphs/compiler/schema-check.ts";
import type { JsonRecord } from "../schemas/json.ts";
import { kebab } from "../schemas/names.ts";
import { loadElements } from "./index.ts";

const elements = await loadElements();

test("loads every folder as an element of the same name", () => {
  for (const name of ["decode", "encode", "print", "record", "resize", "snapshot", "source", "stage"])
    assert.equal(elements.get(name)?.name, name);
});

test("no element is broken", () => {
  assert.deepEqual([...(elements.broken?.values() ?? [])], []);
});

for (const [name, element] of elements) {
  test(`${name} has a description and an example graph that uses it`, () => {
    assert.match(element.about, /^[A-Z].*\.$/);
    assert.match(element.example, /^graph: /m);
    assert.match(element.example, new RegExp(`^ +- ${name}\\b`, "m"));
    assert.ok(Object.isFrozen(element));
  });

  test(`${name} describes each property and names it so that a graph can spell it`, () => {
    assert.deepEqual(checkSchema(element.properties as unknown as JsonRecord), []);
    const properties: Readonly<Record<string, { description?: string }>> = element.properties.properties;
    for (const [property, schema] of Object.entries(properties)) {
      assert.ok(schema.description, `${property} has no description`);
      assert.match(kebab(property), /^[a-z]+(-[a-z]+)*$/);
    }
  });
}
