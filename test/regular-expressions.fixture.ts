/** The regular expressions of the sources, and whether they take linear time by `recheck`. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { AttackPattern } from "recheck";
import { ROOT } from "./docs/pages.ts";
import { type Expression, findExpressions } from "./regular-expressions.ts";

// The native backend for x86-64 takes a minute for all expressions, the JavaScript one many.
process.env.RECHECK_BACKEND = process.platform === "linux" && process.arch === "x64" ? "native" : "pure";
const { check } = await import("recheck");
export const { version } = createRequire(import.meta.url)("recheck/package.json") as { readonly version: string };

export const LIST = join(ROOT, "test/linear-expressions.json");

interface Known {
  readonly recheck: string;
  readonly linear: readonly string[];
}
export const known = JSON.parse(readFileSync(LIST, "utf8")) as Known;

/** Expressions that are computed at run time: their values. */
const COMPOSED: Readonly<Record<string, readonly string[]>> = {
  // From pad templates of installed plugins (`sink_%u`).
  "graphs/compiler/pad-names.ts": ["/^sink_\\d+$/", "/^src_.+$/"],
  "schemas/api/sources.ts": ["/^(rtsp|rtsps|rtmp|rtmps)://[^/?#\\s\\\\]+([/?#][^\\s\\\\]*)?$/u"],
  // Patterns of schemas, which are found in the schemas.
  "schemas/bounded-check.ts": [],
  "schemas/plain-schema.ts": [],
  "server/validation.ts": [],
};

export const found: readonly Expression[] = findExpressions(ROOT).flatMap(({ path, text }) => {
  if (text !== null) return [{ path, text }];
  const texts = COMPOSED[path];
  assert.ok(texts, `${path} computes a regular expression: use a literal, or add it to COMPOSED`);
  return texts.map((composed) => ({ path, text: composed }));
});
export const texts = [...new Set(found.map(({ text }) => text ?? ""))].sort();

/** Null for linear time. */
export async function findFault(text: string): Promise<string | null> {
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

export async function checkAll(some: readonly string[]): Promise<void> {
  const faults: string[] = [];
  for (const text of some) {
    const fault = await findFault(text);
    const paths = found.filter((expression) => expression.text === text).map(({ path }) => path);
    if (fault !== null) faults.push(`${paths.join(", ")}: ${text}: ${fault}`);
  }
  assert.deepEqual(faults, [], faults.join("\n"));
}
