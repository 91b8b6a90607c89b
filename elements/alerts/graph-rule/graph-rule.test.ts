import assert from "node:assert/strict";
import { test } from "node:test";
import { evaluatorOf, faultsOf, START_MS, sceneAt, seenAt } from "../scene.fixture.ts";

test("evaluates nothing", () => {
  const evaluator = evaluatorOf("graph-rule", { parameters: { rule: "in" } });
  assert.deepEqual(evaluator.see(sceneAt(START_MS, [seenAt(1, 0.5, 0.5)])), []);
});

test("needs the name of a rule, and nothing else", () => {
  assert.match(faultsOf("graph-rule", {}).join(), /rule/);
  assert.match(faultsOf("graph-rule", { parameters: { rule: "in" }, trigger: { count: 1 } }).join(), /count/);
});
