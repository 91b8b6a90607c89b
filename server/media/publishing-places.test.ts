import assert from "node:assert/strict";
import { test } from "node:test";
import { PublishingPlaces } from "./publishing-places.ts";

test("a user has so many places, others theirs, and the same path is the same place", () => {
  const places = new PublishingPlaces(2, () => ["ada/live", "ada-2/x"]);
  assert.deepEqual(
    ["ada/a", "ada/b", "ada/a", "ada/live"].map((path) => places.take("ada", path)),
    [true, false, true, true],
  );
  assert.equal(places.take("eve", "eve/a"), true);
});

test("who was let in and published nothing gives the place back after a while", () => {
  let nowMs = 0;
  const places = new PublishingPlaces(
    1,
    () => [],
    () => nowMs,
  );
  assert.deepEqual([places.take("ada", "ada/a"), places.take("ada", "ada/b")], [true, false]);
  nowMs = 60_000;
  assert.equal(places.take("ada", "ada/b"), true);
});
