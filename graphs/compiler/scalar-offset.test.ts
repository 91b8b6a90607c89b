import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isScalar, parseDocument, stringify } from "yaml";
import { writtenOffset } from "./scalar-offset.ts";

/** What is written at each character of the value of a document that is one text. */
function written(text: string): string[] {
  const { contents } = parseDocument(text);
  assert.ok(isScalar(contents) && contents.range);
  const raw = text.slice(contents.range[0], contents.range[1]);
  const value = String(contents.value);
  return [...value].map((_, index) => raw.charAt(writtenOffset(raw, value, index)));
}

for (const [style, text, at] of [
  ["a plain text", "a > 8 && b", "a > 8 && b"],
  ["a text in quotes", '"a > 8 && b"', "a > 8 && b"],
  ["doubled quotes", "'a == ''car'''", "a == 'car'"],
  ["escapes", '"a == \\"car\\""', "a == \\car\\"],
  ["a block text", "|\n  a > 8\n  && b\n", "a > 8\n&& b\n"],
  ["a folded block text", ">-\n  a > 8\n  && b\n", "a > 8 && b"],
  ["a plain text on two lines", "a > 8\n  && b", "a > 8 && b"],
  ["a quoted text on two lines", '"a > 8\n  && b"', "a > 8 && b"],
] as const)
  test(`finds the characters of ${style}`, () => {
    const found = written(text).map((character) => (/\s/.test(character) ? " " : character));
    assert.equal(found.join("").trimEnd(), at.replaceAll("\n", " ").trimEnd());
  });

test("finds every letter of a random text, however it is written", () => {
  const text = fc.array(fc.constantFrom("a", "bc", "1", "==", "'", '"', " ", "\n", "\\", "é", "(", ")"), {
    maxLength: 40,
  });
  const style = fc.constantFrom("PLAIN", "QUOTE_DOUBLE", "QUOTE_SINGLE", "BLOCK_LITERAL", "BLOCK_FOLDED");
  fc.assert(
    fc.property(text, style, (parts, defaultStringType) => {
      const value = `x${parts.join("")}`;
      const raw = stringify({ where: value }, { defaultStringType: defaultStringType as "PLAIN", lineWidth: 30 });
      const node = parseDocument(raw).get("where", true);
      if (!isScalar(node) || !node.range || node.value !== value) return;
      const source = raw.slice(node.range[0], node.range[1]);
      for (const [index, letter] of [...value].entries())
        if (/[a-z0-9=()é]/.test(letter)) assert.equal(source.charAt(writtenOffset(source, value, index)), letter, raw);
    }),
    { numRuns: 2000 },
  );
});
