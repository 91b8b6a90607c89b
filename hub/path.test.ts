import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { readPath } from "./path.ts";

test("a path is read as clients write it, with its key", () => {
  assert.deepEqual(readPath("/anna/drone"), { path: "anna/drone", apiKey: null });
  assert.deepEqual(readPath("anna/drone/front/"), { path: "anna/drone/front", apiKey: null });
  assert.deepEqual(readPath("/anna/cam%2D1?api_key=wh_a%2Bb+c&x=1"), { path: "anna/cam-1", apiKey: "wh_a+b+c" });
  assert.deepEqual(readPath("/anna/drone?x=1&api_key="), { path: "anna/drone", apiKey: null });
  assert.deepEqual(readPath("/anna/drone?api_key=%zz"), { path: "anna/drone", apiKey: null });
  assert.deepEqual(readPath("/_a/0.~-_"), { path: "_a/0.~-_", apiKey: null });
});

test("tricks have no path", () => {
  const tricks = [
    ...["", "/", "anna", "/anna/", "//anna/drone", "/anna//drone", "/anna/drone//", "/anna/../bob/drone"],
    ...["/anna/./drone", "/anna/%2e%2e/bob", "/anna/..%2fbob", "/anna%2fdrone/x", "/anna/.hidden", "/anna/-x"],
    ...["/anna/a b", "/anna/a%00b", "/anna/%zz", "/anna/ü", "/anna/%C3%BC", "/anna/a\\b", "/anna/a\nb", "/anna/a;b"],
    ...["/anna/*", "/anna/a#b", "/anna/a:b", `/anna/${"x".repeat(256)}`, `/anna/x?${"y".repeat(3000)}`],
  ];
  assert.deepEqual(
    tricks.map(readPath).filter((path) => path !== null),
    [],
  );
});

test("the longest path is of 255 characters", () => {
  assert.equal(readPath(`/anna/${"x".repeat(250)}`)?.path.length, 255);
  assert.equal(readPath(`/anna/${"x".repeat(251)}`), null);
});

test("text of any kind is a sound path or none", () => {
  const text = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(..."ab/.%2fFeE?=&\0") }));
  fc.assert(
    fc.property(text, (raw) => {
      const found = readPath(raw);
      if (found === null) return;
      assert.match(found.path, /^\w[\w.~-]*(\/\w[\w.~-]*)+$/);
      assert.ok(found.path.length <= 255);
    }),
    { numRuns: 2000 },
  );
});
