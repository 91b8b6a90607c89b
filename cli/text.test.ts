import assert from "node:assert/strict";
import { test } from "node:test";
import { fit, fitRows, widthOf, wrap } from "./text.ts";

const RED = "\x1b[31mred\x1b[39m";

test("colours take no columns", () => assert.equal(widthOf(RED), 3));

test("a text that is cut keeps its colours whole", () => {
  assert.equal(fit(RED, 3), RED);
  assert.equal(fit(`${RED} and more`, 5), "\x1b[31mred\x1b[39m …");
});

test("words are wrapped, later lines indented, and a long word left whole", () => {
  assert.equal(wrap("one two three", 8, "  "), "one two\n  three");
  assert.equal(wrap("unbreakable word", 4), "unbreakable\nword");
});

test("lines that do not fit are counted above the last", () => {
  const lines = ["head", "a", "b", "c", "status"];
  assert.deepEqual(fitRows(lines, 5), lines);
  assert.deepEqual(fitRows(lines, 4), ["head", "a", "… 2 more lines", "status"]);
  assert.deepEqual(fitRows(lines, 1), ["status"]);
});
