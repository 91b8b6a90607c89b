/**
 * No regular expression of ours takes more than linear time, whatever text it meets: with a bad one, a client freezes the
 * service with one long text. `recheck` decides. In `npm test` it judges those that are not known to be linear, and some
 * of those that are; `npm run soak -- regular-expressions` judges all of them, and writes the known ones down.
 */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { ROOT } from "../docs/pages.ts";
import { type Expression, findExpressions } from "../regular-expressions.ts";
import { rounds } from "./rounds.fixture.ts";

// Its program for x86-64 takes a minute for all of them; its JavaScript, for other processors, many.
process.env.RECHECK_BACKEND = process.platform === "linux" && process.arch === "x64" ? "native" : "pure";
const { check } = await import("recheck");
const { version } = createRequire(import.meta.url)("recheck/package.json") as { readonly version: string };

const LIST = join(ROOT, "test/linear-expressions.json");
const WRITE = "`npm run soak -- regular-expressions` writes it anew";
const SAMPLE = 10;

interface Known {
  readonly recheck: string;
  readonly linear: readonly string[];
}
const IS_LONG = rounds(0, 1) === 1;
const known = JSON.parse(readFileSync(LIST, "utf8")) as Known;

/** Put together while running: what they come to, or why their time is bounded. */
const COMPOSED: Readonly<Record<string, readonly string[]>> = {
  // From the templates of pads of installed plugins (`sink_%u`): digits, or any text, between words.
  "graphs/compiler/pad-names.ts": ["/^sink_\\d+$/", "/^src_.+$/"],
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

async function judgeAll(some: readonly string[]): Promise<void> {
  const faults: string[] = [];
  for (const text of some) {
    const verdict = await judge(text);
    const paths = found.filter((expression) => expression.text === text).map(({ path }) => path);
    if (verdict !== null) faults.push(`${paths.join(", ")}: ${text}: ${verdict}`);
  }
  assert.deepEqual(faults, [], faults.join("\n"));
}

test("regular expressions are found where they are", () => {
  const paths = new Set(found.map(({ path }) => path));
  for (const path of ["schemas/mask.ts", "schemas/api/sources.ts", "setup/packages.mjs", "console/live/parsers.ts"])
    assert.ok(paths.has(path), path);
  assert.ok(texts.length > 300, `${texts.length} are found`);
});

test("a bad one is seen to be one", async () => {
  for (const text of ["/^(a+)+$/", "/\\s+$/", "/([?&;])([^=&;#\\s\"']+)=([^&;#\\s\"']*)/g"])
    assert.ok(await judge(text), text);
});

test("every regular expression takes linear time", async () => {
  const isSame = known.recheck === version;
  const isNew = (text: string) => IS_LONG || !isSame || !known.linear.includes(text);
  await judgeAll(texts.filter(isNew));
  if (IS_LONG) writeFileSync(LIST, `${JSON.stringify({ recheck: version, linear: texts }, null, 2)}\n`);
});

test("the list of those that are known to be linear is right and complete", { skip: IS_LONG }, async () => {
  assert.equal(known.recheck, version, `it is by another version of recheck: ${WRITE}`);
  assert.deepEqual(known.linear, texts, WRITE);
  const first = Math.floor(Math.random() * texts.length);
  await judgeAll(Array.from({ length: SAMPLE }, (_, i) => texts[(first + i * 37) % texts.length] ?? ""));
});
