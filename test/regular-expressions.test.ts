/**
 * No regular expression of ours takes more than linear time, whatever text it meets: with a bad one, a client freezes the
 * service with one long text. `recheck` decides; its program for x86-64 takes seconds, its JavaScript, for other
 * processors, a minute.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ROOT } from "./docs/pages.ts";
import { type Expression, findExpressions } from "./regular-expressions.ts";

process.env.RECHECK_BACKEND = process.platform === "linux" && process.arch === "x64" ? "native" : "pure";
const { check } = await import("recheck");

/** Put together while running: what they come to, or why their time is bounded. */
const COMPOSED: Readonly<Record<string, readonly string[]>> = {
  // From the templates of pads of installed plugins (`sink_%u`): digits, or any text, between words.
  "graphs/compiler/pad-names.ts": ["/^sink_\\d+$/", "/^src_.+$/"],
  "hub/rtsp/request-url.ts": ["/^(.*?)\\/trackID=(\\d{1,2})\\/?(\\?.*)?$/s"],
  "schemas/api/sources.ts": ["/^(rtsp|rtsps|rtmp|rtmps)://[^/?#\\s\\\\]+([/?#][^\\s\\\\]*)?$/u"],
  // Patterns of schemas, which are found where they are written.
  "schemas/bounded-check.ts": [],
  "server/validation.ts": [],
};

const found: readonly Expression[] = findExpressions(ROOT).flatMap(({ path, text }) => {
  if (text !== null) return [{ path, text }];
  const texts = COMPOSED[path];
  assert.ok(texts, `${path} puts a regular expression together while running: write it out, or name it in COMPOSED`);
  return texts.map((composed) => ({ path, text: composed }));
});
const texts = [...new Set(found.map(({ text }) => text ?? ""))].sort();

/** Null: linear. */
async function judge(text: string): Promise<string | null> {
  const end = text.lastIndexOf("/");
  const verdict = await check(text.slice(1, end), text.slice(end + 1), { timeout: 60_000 });
  if (verdict.status === "safe") return null;
  return verdict.status === "vulnerable" ? verdict.complexity.summary : `not decided: ${verdict.error.kind}`;
}

test("regular expressions are found where they are", () => {
  const paths = new Set(found.map(({ path }) => path));
  for (const path of ["schemas/mask.ts", "schemas/api/sources.ts", "setup/packages.mjs", "console/live/read-events.ts"])
    assert.ok(paths.has(path), path);
  assert.ok(texts.length > 300, `${texts.length} are found`);
});

test("a bad one is seen to be one", async () => {
  for (const text of ["/^(a+)+$/", "/\\s+$/", "/([?&;])([^=&;#\\s\"']+)=([^&;#\\s\"']*)/g"])
    assert.ok(await judge(text), text);
});

test("every regular expression takes linear time", async () => {
  const faults: string[] = [];
  for (const text of texts) {
    const verdict = await judge(text);
    const paths = found.filter((expression) => expression.text === text).map(({ path }) => path);
    if (verdict !== null) faults.push(`${paths.join(", ")}: ${text}: ${verdict}`);
  }
  assert.deepEqual(faults, [], faults.join("\n"));
});
