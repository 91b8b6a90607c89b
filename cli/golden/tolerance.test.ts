import assert from "node:assert/strict";
import { test } from "node:test";
import { UsageFault } from "../command.ts";
import { header } from "./golden.fixture.ts";
import { chooseLevel, readLevel } from "./tolerance.ts";

test("a level is named, or left to what the golden was recorded with", () => {
  assert.equal(readLevel("exact"), "exact");
  assert.equal(readLevel(undefined), null);
  for (const text of ["exakt", "", "iou=0.9"])
    assert.throws(
      () => readLevel(text),
      (error) => error instanceof UsageFault && /expected exact, same, other/.test(error.message),
    );
});

test("one kind of machine with one network is held tight, all others are not", () => {
  assert.equal(chooseLevel(header(), header({ windhover: "9.9.9" })), "same");
  assert.equal(chooseLevel(header(), header({ machine: "x64" })), "other");
  assert.equal(chooseLevel(header(), header({}, { network: "f".repeat(64) })), "other");
  assert.equal(chooseLevel(header(), header({ models: [] })), "other");
});
