import assert from "node:assert/strict";
import { test } from "node:test";
import { Type } from "typebox";
import { Checks } from "./bounded-check.ts";
import { MOST_PATTERN_CHARACTERS } from "./plain-schema.ts";

const LETTERS = Type.String({ pattern: "^[a-z]+$", maxLength: 3 * MOST_PATTERN_CHARACTERS });
const check = new Checks({}).by(Type.Object({ text: LETTERS, count: Type.Optional(Type.Integer()) }));
const messages = (value: unknown) => check(value).map(({ path }) => path);

test("tests the pattern on a long text that its schema allows", () => {
  const text = "a".repeat(2 * MOST_PATTERN_CHARACTERS);
  assert.deepEqual(messages({ text }), []);
  assert.deepEqual(messages({ text: `${text}!` }), ["/text"]);
});

test("reports the length of a text that is too long, and the other faults", () => {
  assert.deepEqual(messages({ text: "!".repeat(4 * MOST_PATTERN_CHARACTERS), count: "many" }), ["/text", "/count"]);
});

test("does not report a valid long text in an invalid value", () => {
  assert.deepEqual(messages({ text: "a".repeat(2 * MOST_PATTERN_CHARACTERS), count: "many" }), ["/count"]);
});
