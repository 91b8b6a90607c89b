import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { ENDPOINTS, ERROR_ROWS, EVENT_ROWS, type Evidence, LIMIT_ROWS, STREAMS } from "./interface-rows.ts";

const ROOT = new URL("../../", import.meta.url);
/** So many rows have the tables of the interface: endpoints by group, sockets, events, errors with their rules, limits and checks. */
const COUNTS = { endpoints: 4 + 5 + 7 + 2 + 5 + 7 + 3, streams: 3, events: 5, errors: 7 + 3 + 3, limits: 11 + 5 };

const TABLES: readonly (readonly [keyof typeof COUNTS, Readonly<Record<string, Evidence>>])[] = [
  ["endpoints", ENDPOINTS],
  ["streams", STREAMS],
  ["events", EVENT_ROWS],
  ["errors", ERROR_ROWS],
  ["limits", LIMIT_ROWS],
];

/** Names of every test of a file; what a name is put together of is `…`. */
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
      test(`${row} is shown by tests that exist`, () => {
        for (const [file, name] of evidence) assert.ok(namesIn(file).has(name), `${file} has no test "${name}"`);
      });
  });
