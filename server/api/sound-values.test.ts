import assert from "node:assert/strict";
import { test } from "node:test";
import { findUnsound, hasTooManyValues, MOST_VALUES } from "./sound-values.ts";

const listOf = (count: number, item: unknown): string => JSON.stringify(Array(count).fill(item));
const judge = (json: string): boolean => hasTooManyValues(Buffer.from(json));

test("too many values are seen before they are parsed", () => {
  for (const item of [1, "a", {}, [], null]) assert.ok(judge(listOf(MOST_VALUES + 1, item)), JSON.stringify(item));
  assert.ok(!judge(listOf(MOST_VALUES - 1, 1)));
});

test("what stands in texts is not counted, whatever quotation marks are in them", () => {
  const commas = ",".repeat(2 * MOST_VALUES);
  for (const text of [commas, `"${commas}`, `\\${commas}`, `${commas}\\`, `\\"${commas}"`, `é${commas}`])
    assert.ok(!judge(JSON.stringify([text, { [text]: text }])), text.slice(0, 5));
  assert.ok(judge(`["\\"", ${listOf(MOST_VALUES + 1, 1)}]`));
});

test("a text that never ends is left to the parser", () => {
  for (const json of ['"', '["\\', '["\\"']) assert.ok(!judge(json));
});

test("what is parsed is counted exactly", () => {
  const message = `has more than ${MOST_VALUES} values`;
  assert.deepEqual(findUnsound(Array(MOST_VALUES).fill(1)), [{ path: "", message }]);
  assert.deepEqual(findUnsound(Array(MOST_VALUES - 2).fill(1)), []);
});
