/**
 * Every regular expression takes linear time for any text: otherwise a client could block the service with one long text.
 * Expressions are checked that are not in the list of known ones, and a sample of the list; `npm run soak --
 * regular-expressions` checks all of them and writes the list.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkAll, findFault, found, known, texts, version } from "./regular-expressions.fixture.ts";

const WRITE = "`npm run soak -- regular-expressions` rewrites it";
const SAMPLE = 3;
/** Those not in the list are checked in every run: more would make `npm test` slow. */
const MAX_MISSING = 25;

test("finds the regular expressions of the sources", () => {
  const paths = new Set(found.map(({ path }) => path));
  for (const path of ["schemas/mask.ts", "schemas/api/sources.ts", "setup/packages.mjs", "console/live/parsers.ts"])
    assert.ok(paths.has(path), path);
  assert.ok(texts.length > 300, `${texts.length} found`);
});

test("rejects expressions with more than linear time", async () => {
  for (const text of ["/^(a+)+$/", "/\\s+$/", "/([?&;])([^=&;#\\s\"']+)=([^&;#\\s\"']*)/g"])
    assert.ok(await findFault(text), text);
});

test("every regular expression takes linear time", () =>
  checkAll(texts.filter((text) => known.recheck !== version || !known.linear.includes(text))));

test("the list of known linear expressions is nearly complete, and true in a sample", async () => {
  assert.equal(known.recheck, version, `written by another version of recheck: ${WRITE}`);
  const missing = texts.filter((text) => !known.linear.includes(text));
  assert.ok(missing.length <= MAX_MISSING, `${missing.length} are not in the list, at most ${MAX_MISSING}: ${WRITE}`);
  const first = Math.floor(Math.random() * texts.length);
  await checkAll(Array.from({ length: SAMPLE }, (_, i) => texts[(first + i * 37) % texts.length] ?? ""));
});
