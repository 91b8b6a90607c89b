import assert from "node:assert/strict";
import { test } from "node:test";
import { newUuid } from "../uuid.ts";
import { readCursor, writeCursor } from "./page.ts";

const USUAL = { sort: "-created_at", usual: "-created_at" };
const BY_ALIAS = { sort: "alias", usual: "-created_at" };

test("a cursor names its row, and its order unless that is the default", () => {
  const row = { value: "2026-11-05T10:00:00.123Z", uuid: newUuid() };
  assert.deepEqual(readCursor(writeCursor(row, USUAL), "time", USUAL), row);
  const named = { value: "Gate 1/2 – nord", uuid: newUuid() };
  assert.deepEqual(readCursor(writeCursor(named, BY_ALIAS), "text", BY_ALIAS), named);
});

test("a cursor is of one order", () => {
  const row = { value: "Gate", uuid: newUuid() };
  const wrong = { name: "ServiceError", code: "invalid_input" };
  assert.throws(() => readCursor(writeCursor(row, BY_ALIAS), "text", { ...BY_ALIAS, sort: "-alias" }), wrong);
  const usual = writeCursor({ ...row, value: "2026-11-05T10:00:00.123Z" }, USUAL);
  assert.throws(() => readCursor(usual, "time", { ...USUAL, sort: "created_at" }), wrong);
});

const encode = (text: string) => Buffer.from(text).toString("base64url");
for (const cursor of [
  "",
  "x",
  "%00",
  encode("2026-11-05T10:00:00.000Z"),
  encode(`2026-02-31T10:00:00.000Z/${newUuid()}`),
  encode(`2026-11-05T10:00:00.000Z/${newUuid()}/more`),
  encode("2026-11-05T10:00:00.000Z/no-uuid"),
  encode(`yesterday/${newUuid()}`),
  encode(`2026-11-05T10:00:00.000Z/${newUuid()}/alias`),
]) {
  test(`rejects the cursor ${JSON.stringify(cursor)}`, () => {
    assert.throws(() => readCursor(cursor, "time", USUAL), { name: "ServiceError", code: "invalid_input" });
  });
}

test("rejects a cursor with a character that the database cannot store", () => {
  const cursor = writeCursor({ value: "a\0b", uuid: newUuid() }, BY_ALIAS);
  assert.throws(() => readCursor(cursor, "text", BY_ALIAS), { name: "ServiceError", code: "invalid_input" });
});
