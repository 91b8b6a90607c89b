import assert from "node:assert/strict";
import { test } from "node:test";
import { makeContext } from "../registry.fixture.ts";
import stage from "./stage.ts";

const expand = (live: boolean) =>
  stage.kind === "composite" ? stage.expand({ buffers: 3 }, makeContext([], { live })).nodes : [];

const bounded = { "max-size-buffers": 3, "max-size-bytes": 0, "max-size-time": 0 };

test("a live stage drops its oldest frame", () => {
  assert.deepEqual(expand(true), [
    { suffix: "queue", factory: "queue", properties: { ...bounded, leaky: "downstream" } },
  ]);
});

test("a stage at pace fast blocks and drops nothing", () => {
  assert.deepEqual(expand(false), [{ suffix: "queue", factory: "queue", properties: { ...bounded, leaky: "no" } }]);
});
