/**
 * No regular expression of ours takes more than linear time, whatever text it meets: with a bad one, a client freezes the
 * service with one long text. Each is checked once, by `recheck`, and noted in regular-expressions.json; that takes
 * seconds, so what is noted is not checked again. `UPDATE_GOLDEN=1` checks all of them and writes the notes anew.
 */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ROOT } from "./docs/pages.ts";
import { type Expression, findExpressions } from "./regular-expressions.ts";

// The same on every machine; the other ways need Java or a program for its processor.
process.env.RECHECK_BACKEND = "pure";
const { checkSync } = await import("recheck");

/** Put together while running: what they come to, or why their time is bounded. */
const COMPOSED: Readonly<Record<string, readonly string[]>> = {
  // From the templates of pads of installed plugins (`sink_%u`): digits, or any text, between words.
  "graphs/compiler/pad-names.ts": ["/^sink_\\d+$/", "/^src_.+$/"],
  "hub/rtsp/request-url.ts": ["/^(.*?)\\/trackID=(\\d{1,2})\\/?(\\?.*)?$/"],
  "schemas/api/sources.ts": ["/^(rtsp|rtsps|rtmp|rtmps)://[^/?#\\s\\\\]+([/?#][^\\s\\\\]*)?$/u"],
  // Patterns of schemas, which are found where they are written.
  "schemas/bounded-check.ts": [],
  "server/validation.ts": [],
};

const NOTES = join(ROOT, "test/regular-expressions.json");
const isUpdate = process.env.UPDATE_GOLDEN === "1";

const found: readonly Expression[] = findExpressions(ROOT).flatMap(({ path, text }) => {
  if (text !== null) return [{ path, text }];
  const texts = COMPOSED[path];
  assert.ok(texts, `${path} puts a regular expression together while running: write it out, or name it in COMPOSED`);
  return texts.map((composed) => ({ path, text: composed }));
});
const texts = [...new Set(found.map(({ text }) => text ?? ""))].sort();

/** Null: linear. */
function judge(text: string): string | null {
  const end = text.lastIndexOf("/");
  const verdict = checkSync(text.slice(1, end), text.slice(end + 1), { timeout: 60_000 });
  if (verdict.status === "safe") return null;
  return verdict.status === "vulnerable" ? verdict.complexity.summary : `not decided: ${verdict.error.kind}`;
}

test("regular expressions are found where they are", () => {
  const paths = new Set(found.map(({ path }) => path));
  for (const path of ["schemas/mask.ts", "schemas/api/sources.ts", "setup/test.mjs", "console/live/read-events.ts"])
    assert.ok(paths.has(path), path);
  assert.ok(texts.length > 300, `${texts.length} are found`);
});

test("a bad one is seen to be one", () => {
  for (const text of ["/^(a+)+$/", "/\\s+$/", "/([?&;])([^=&;#\\s\"']+)=([^&;#\\s\"']*)/g"])
    assert.ok(judge(text), text);
});

test("every regular expression takes linear time", () => {
  const noted: readonly string[] = isUpdate ? [] : JSON.parse(readFileSync(NOTES, "utf8"));
  const faults = texts.flatMap((text) => {
    const verdict = noted.includes(text) ? null : judge(text);
    const { path } = found.find((expression) => expression.text === text) as Expression;
    return verdict === null ? [] : [`${path}: ${text}: ${verdict}`];
  });
  assert.deepEqual(faults, [], faults.join("\n"));
  if (isUpdate) writeFileSync(NOTES, `${JSON.stringify(texts, null, 2)}\n`);
});

test("the notes are of these regular expressions and no others: else UPDATE_GOLDEN=1", () =>
  assert.deepEqual(JSON.parse(readFileSync(NOTES, "utf8")), texts));
