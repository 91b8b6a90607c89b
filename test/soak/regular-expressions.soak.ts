/**
 * Every regular expression takes linear time for any text: otherwise a client could block the service with one long text.
 * Checked with `recheck`. `npm test` checks expressions that are not in the list of known ones, and a sample of the list;
 * `npm run soak -- regular-expressions` checks all of them and writes the list.
 */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import type { AttackPattern } from "recheck";
import { ROOT } from "../docs/pages.ts";
import { type Expression, findExpressions } from "../regular-expressions.ts";
import { rounds } from "./rounds.fixture.ts";

// The native backend for x86-64 takes a minute for all expressions, the JavaScript one many.
process.env.RECHECK_BACKEND = process.platform === "linux" && process.arch === "x64" ? "native" : "pure";
const { check } = await import("recheck");
const { version } = createRequire(import.meta.url)("recheck/package.json") as { readonly version: string };

const LIST = join(ROOT, "test/linear-expressions.json");
const WRITE = "`npm run soak -- regular-expressions` rewrites it";
const SAMPLE = 3;
/** Those not in the list are checked in every run: more would make `npm test` slow. */
const MAX_MISSING = 25;

interface Known {
  readonly recheck: string;
  readonly linear: readonly string[];
}
const IS_LONG = rounds(0, 1) === 1;
const known = JSON.parse(readFileSync(LIST, "utf8")) as Known;

/** Expressions that are computed at run time: their values. */
const COMPOSED: Readonly<Record<string, readonly string[]>> = {
  // From pad templates of installed plugins (`sink_%u`).
  "graphs/compiler/pad-names.ts": ["/^sink_\\d+$/", "/^src_.+$/"],
  "schemas/api/sources.ts": ["/^(rtsp|rtsps|rtmp|rtmps)://[^/?#\\s\\\\]+([/?#][^\\s\\\\]*)?$/u"],
  // Patterns of schemas, which are found in the schemas.
  "schemas/bounded-check.ts": [],
  "server/validation.ts": [],
};

const found: readonly Expression[] = findExpressions(ROOT).flatMap(({ path, text }) => {
  if (text !== null) return [{ path, text }];
  const texts = COMPOSED[path];
  assert.ok(texts, `${path} computes a regular expression: use a literal, or add it to COMPOSED`);
  return texts.map((composed) => ({ path, text: composed }));
});
const texts = [...new Set(found.map(({ text }) => text ?? ""))].sort();

/** Null for linear time. */
async function findFault(text: string): Promise<string | null> {
  const end = text.lastIndexOf("/");
  const result = await check(text.slice(1, end), text.slice(end + 1), { timeout: 60_000 });
  if (result.status === "safe") return null;
  if (result.status !== "vulnerable") return `not decided: ${result.error.kind}`;
  const { checker, complexity, attack } = result;
  const isGuess = checker === "fuzz" && complexity.type === "polynomial";
  return isGuess && !isSlow(text.slice(1, end), attack) ? null : complexity.summary;
}

/** Whether four times the attack takes clearly more than four times as long. Fuzzing on a busy machine reports linear ones, too. */
function isSlow(source: string, { pumps, suffix }: AttackPattern): boolean {
  const expression = new RegExp(source);
  const measure = (times: number): number => {
    const text = pumps.map(({ prefix, pump }) => prefix + pump.repeat(times)).join("") + suffix;
    const rounds = Array.from({ length: 5 }, () => {
      const beganMs = performance.now();
      expression.test(text);
      return performance.now() - beganMs;
    });
    return Math.min(...rounds);
  };
  let times = 64;
  while (times < 2 ** 20 && measure(times) < 2) times *= 2;
  return [1, 2, 3].every(() => measure(4 * times) > 8 * measure(times));
}

async function checkAll(some: readonly string[]): Promise<void> {
  const faults: string[] = [];
  for (const text of some) {
    const fault = await findFault(text);
    const paths = found.filter((expression) => expression.text === text).map(({ path }) => path);
    if (fault !== null) faults.push(`${paths.join(", ")}: ${text}: ${fault}`);
  }
  assert.deepEqual(faults, [], faults.join("\n"));
}

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

test("every regular expression takes linear time", async () => {
  const isSame = known.recheck === version;
  const isNew = (text: string) => IS_LONG || !isSame || !known.linear.includes(text);
  await checkAll(texts.filter(isNew));
  if (IS_LONG) writeFileSync(LIST, `${JSON.stringify({ recheck: version, linear: texts }, null, 2)}\n`);
});

test("the list of known linear expressions is nearly complete, and true in a sample", { skip: IS_LONG }, async () => {
  assert.equal(known.recheck, version, `written by another version of recheck: ${WRITE}`);
  const missing = texts.filter((text) => !known.linear.includes(text));
  assert.ok(missing.length <= MAX_MISSING, `${missing.length} are not in the list, at most ${MAX_MISSING}: ${WRITE}`);
  const first = Math.floor(Math.random() * texts.length);
  await checkAll(Array.from({ length: SAMPLE }, (_, i) => texts[(first + i * 37) % texts.length] ?? ""));
});
