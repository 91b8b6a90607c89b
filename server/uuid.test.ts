import assert from "node:assert/strict";
import { test } from "node:test";
import { newUuid } from "./uuid.ts";

test("is a lower-case UUIDv7 that begins with the time", () => {
  const before = Date.now();
  const uuid = newUuid();
  assert.match(uuid, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  const at = Number.parseInt(uuid.replaceAll("-", "").slice(0, 12), 16);
  assert.ok(at >= before && at <= Date.now(), `${at} is the time of the call`);
});

test("never repeats", () => {
  assert.equal(new Set(Array.from({ length: 10_000 }, newUuid)).size, 10_000);
});
