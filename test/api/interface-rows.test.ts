import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { ENDPOINTS, ERROR_ROWS, EVENT_ROWS, type Evidence, LIMIT_ROWS, STREAMS } from "./interface-rows.ts";

const ROOT = new URL("../../", import.meta.url);
/** Numbers of rows in the interface specification: endpoints by group, sockets, events, errors with their rules, limits and checks. */
const COUNTS = { endpoints: 4 + 5 + 7 + 2 + 5 + 7 + 3, streams: 3, events: 5, errors: 7 + 3 + 3, limits: 11 + 5 };

const TABLES: readonly (readonly [keyof typeof COUNTS, Readonly<Record<string, Evidence>>])[] = [
  ["endpoints", ENDPOINTS],
  ["streams", STREAMS],
  ["events", EVENT_ROWS],
  ["errors", ERROR_ROWS],
  ["limits", LIMIT_ROWS],
];

/** Names of all tests of a file, with `…` for interpolated parts. */
function namesIn(file: string): ReadonlySet<string> {
  const text = readFileSync(new URL(file, ROOT), "utf8");
  const calls = text.matchAll(/\btest\(\s*(?:"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`)/g);
  return new Set(
    [...calls].map(([, plain, template]) =>
      plain === undefined ? (template ?? "").replace(/\$\{[^}]*\}/g, "…") : JSON.parse(`"${plain}"`),
    ),
  );
}

for (const [table, rows] of TABLES)
  describe(`the table of ${table}`, () => {
    test("has every row of the interface", () => assert.equal(Object.keys(rows).length, COUNTS[table]));

    for (const [row, evidence] of Object.entries(rows))
      test(`the tests of ${row} exist`, () => {
        for (const [file, name] of evidence) assert.ok(namesIn(file).has(name), `${file} has no test "${name}"`);
      });
  });
