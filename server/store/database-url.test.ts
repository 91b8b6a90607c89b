import assert from "node:assert/strict";
import { test } from "node:test";
import { DatabaseFault } from "./client.ts";
import { readDatabaseUrl } from "./database.ts";

const READ: readonly (readonly [url: string, expected: object])[] = [
  [
    "postgres://me:s%40cret@db.example:6543/hawks",
    { host: "db.example", port: 6543, user: "me", password: "s@cret", database: "hawks", ssl: "prefer" },
  ],
  ["postgresql://me@db/hawks", { port: 5432, password: null }],
  ["postgres://me@db", { database: "me" }],
  ["postgres://me@[::1]:5433/hawks", { host: "::1", port: 5433 }],
  ["postgres:///hawks?host=/run/pg&user=me&port=5555", { host: "/run/pg", port: 5555, user: "me", ssl: false }],
  ["postgres://me@%2Frun%2Fpg/hawks", { host: "/run/pg", ssl: false }],
  ["postgres://me@db/hawks?sslmode=disable", { ssl: false, parameters: {} }],
  ["postgres://me@db/hawks?sslmode=verify-full", { ssl: "verify-full" }],
  ["postgres://me@db/hawks", { isPooled: false }],
  ["postgres://me@db/hawks?pgbouncer=true", { isPooled: true, parameters: {} }],
  ["postgres://me@db/hawks?search_path=birds", { parameters: { search_path: "birds" } }],
];

for (const [url, expected] of READ) {
  test(`reads ${url}`, () => {
    const address = readDatabaseUrl(url);
    assert.deepEqual({ ...address, ...expected }, address);
  });
}

const REFUSED: readonly (readonly [url: string, words: RegExp])[] = [
  ["mysql://me:secret@db/hawks", /does not begin with postgres:/],
  ["db.example", /does not begin with postgres:/],
  ["postgres://me:se/cret@db/hawks", /cannot be read|port/],
  ["postgres://me:secret@db/hawks?sslmode=maybe", /sslmode "maybe".*require/],
  ["postgres://me:secret@db/hawks?port=0", /invalid port/],
  ["postgres://me:secret@db/hawks?pgbouncer=yes", /pgbouncer=yes, expected true or false/],
];

for (const [url, words] of REFUSED) {
  test(`rejects ${url} without revealing the password`, () => {
    assert.throws(
      () => readDatabaseUrl(url),
      (error) => error instanceof DatabaseFault && words.test(error.message) && !/se\/?cret@/.test(error.message),
    );
  });
}
