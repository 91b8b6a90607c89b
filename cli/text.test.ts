import assert from "node:assert/strict";
import { test } from "node:test";
import { fit, fitRows, widthOf, wrap } from "./text.ts";

const RED = "\x1b[31mred\x1b[39m";

test("colours take no columns", () => assert.equal(widthOf(RED), 3));

test("keeps colour codes whole when it cuts a text", () => {
  assert.equal(fit(RED, 3), RED);
  assert.equal(fit(`${RED} and more`, 5), "\x1b[31mred\x1b[39m …");
});

test("wraps words, indents later lines and keeps a long word whole", () => {
  assert.equal(wrap("one two three", 8, "  "), "one two\n  three");
  assert.equal(wrap("unbreakable word", 4), "unbreakable\nword");
});

test("counts the lines that do not fit above the last one", () => {
  const lines = ["head", "a", "b", "c", "status"];
  assert.deepEqual(fitRows(lines, 5), lines);
  assert.deepEqual(fitRows(lines, 4), ["head", "a", "… 2 more lines", "status"]);
  assert.deepEqual(fitRows(lines, 1), ["status"]);
});
