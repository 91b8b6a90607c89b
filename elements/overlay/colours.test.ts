import assert from "node:assert/strict";
import { test } from "node:test";
import { colourOf, contrast, inkOn } from "./colours.ts";

const IDS = Array.from({ length: 100 }, (_, id) => id);

test("text can be read on the colour of every class", () => {
  for (const id of IDS) {
    const colour = colourOf(id);
    assert.ok(colour >= 0 && colour <= 0xffffff && Number.isInteger(colour));
    assert.ok(contrast(colour, inkOn(colour)) >= 4.5, `class ${id}`);
  }
});

test("the first fourteen classes differ, and a class keeps its colour", () => {
  assert.equal(new Set(IDS.slice(0, 14).map(colourOf)).size, 14);
  assert.deepEqual(IDS.map(colourOf), IDS.map(colourOf));
});

test("contrast goes from none to that of black and white", () => {
  assert.equal(contrast(0x123456, 0x123456), 1);
  assert.equal(contrast(0x000000, 0xffffff), 21);
});
