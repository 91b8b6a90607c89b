import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { diffLines, foldSame } from "./line-diff.ts";

const SIGNS = { same: " ", removed: "-", added: "+" };
const show = (before: string, after: string) =>
  diffLines(before, after).map(({ kind, text }) => `${SIGNS[kind]}${text}`);

test("shows added, removed and replaced lines where they are", () => {
  assert.deepEqual(show("a\nb\nc\n", "a\nb\nc\n"), [" a", " b", " c"]);
  assert.deepEqual(show("a\nb\nc\n", "a\nx\nc\nd\n"), [" a", "-b", "+x", " c", "+d"]);
  assert.deepEqual(show("a\nb\n", "b\n"), ["-a", " b"]);
});

test("contains both texts, whatever they are", () => {
  const text = fc.array(fc.constantFrom("a", "b", "c", ""), { maxLength: 12 }).map((lines) => lines.join("\n"));
  fc.assert(
    fc.property(text, text, (before, after) => {
      const lines = diffLines(before, after);
      const without = (kind: string) => lines.flatMap((line) => (line.kind === kind ? [] : [line.text])).join("\n");
      assert.equal(without("added"), before.replace(/\n$/, ""));
      assert.equal(without("removed"), after.replace(/\n$/, ""));
    }),
  );
});

test("leaves out what is far from a difference", () => {
  const lines = diffLines("1\n2\n3\n4\n5\n6\n", "1\n2\n3\n4\n5\nx\n");
  assert.deepEqual(
    foldSame(lines, 1).map((line) => line?.text ?? null),
    [null, "5", "6", "x"],
  );
});
