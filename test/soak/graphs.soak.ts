import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { compile } from "../../graphs/compiler/compile.ts";
import { inputWith } from "../graph.fixture.ts";
import { rounds } from "./rounds.fixture.ts";

const FOLDER = fileURLToPath(new URL("../../graphs/", import.meta.url));
const templates = readdirSync(FOLDER)
  .filter((name) => name.endsWith(".yaml"))
  .map((name) => readFileSync(FOLDER + name, "utf8"));
const WORDS = [...new Set(templates.flatMap((text) => text.match(/[\w$-]+/g) ?? []))];

/** A random edit. */
type Edit = { at: number; length: number; text: string };
const edit: fc.Arbitrary<Edit> = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  length: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 12 })),
  text: fc.oneof(
    fc.constantFrom(...WORDS),
    fc.constantFrom(
      "\n",
      "  ",
      ": ",
      "- ",
      "{",
      "}",
      "[",
      "]",
      "&a ",
      "*a",
      "<<: *a",
      "$x",
      ["$", "{y}"].join(""),
      "!",
      "|",
      "#",
      "\t",
      '"',
      "null",
      "-1",
      "1e999",
    ),
    fc.string({ maxLength: 8 }),
    fc.constant(""),
  ),
});

/** Edits characters anywhere, or replaces whole words, which keeps the YAML valid and tests later stages. */
const mutant = fc
  .tuple(fc.constantFrom(...templates), fc.array(edit, { minLength: 1, maxLength: 5 }), fc.boolean())
  .map(([text, edits, words]) => edits.reduce((now, one) => (words ? swapWord(now, one) : splice(now, one)), text));

function splice(text: string, { at, length, text: put }: Edit): string {
  const index = Math.floor(at * text.length);
  return text.slice(0, index) + put + text.slice(index + length);
}

function swapWord(text: string, { at, text: put }: Edit): string {
  const found = [...text.matchAll(/[\w$-]+/g)];
  const word = found[Math.floor(at * (found.length - 1))];
  return word === undefined ? text : text.slice(0, word.index) + put + text.slice(word.index + word[0].length);
}

test("a mutated graph never crashes the compiler, and every fault has a position", {
  timeout: rounds(240_000, 1_800_000),
}, () => {
  const input = { ...inputWith(), mode: "check" as const, source: { uri: "test:ball" } };
  const count = { compiled: 0, rejected: 0 };
  fc.assert(
    fc.property(mutant, (text) => {
      const { plan, faults } = compile({ file: "mutant.yaml", text }, input);
      const lines = text.split("\n").length;
      if (plan === null) count.rejected++;
      else count.compiled++;
      assert.equal(plan === null, faults.length > 0);
      for (const { at, message } of faults) {
        assert.equal(at.file, "mutant.yaml");
        assert.ok(
          at.line >= 1 && at.line <= lines + 1 && at.column >= 1,
          `${message} at ${at.line}:${at.column} of ${lines} lines`,
        );
        assert.ok(message.length > 0);
      }
    }),
    { numRuns: rounds(120, 5_000) },
  );
  process.stderr.write(`${count.rejected} rejected, ${count.compiled} compiled\n`);
  assert.ok(count.rejected > 0 && count.compiled > 0, "both outcomes occur");
});
