import assert from "node:assert/strict";
import { test } from "node:test";
import { newUuid } from "../uuid.ts";
import { cutPage, readCursor } from "./page.ts";

const rows = Array.from({ length: 5 }, (_, i) => ({
  createdAt: `2026-11-0${5 - i}T10:00:00.12${i}Z`,
  uuid: newUuid(),
}));

test("the cursor of a page points to its last row", () => {
  const page = cutPage(rows.slice(0, 3), { limit: 2 });
  assert.deepEqual(page.rows, rows.slice(0, 2));
  assert.deepEqual(readCursor(page.nextCursor ?? ""), rows[1]);
});

test("neither the last page nor a whole listing has a cursor", () => {
  assert.equal(cutPage(rows.slice(0, 2), { limit: 2 }).nextCursor, null);
  assert.equal(cutPage(rows, {}).nextCursor, null);
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
]) {
  test(`rejects the cursor ${JSON.stringify(cursor)}`, () => {
    assert.throws(() => readCursor(cursor), { name: "ServiceError", code: "invalid_input" });
  });
}
