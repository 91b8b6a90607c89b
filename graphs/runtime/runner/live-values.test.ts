import assert from "node:assert/strict";
import { test } from "node:test";
import { loadElements } from "../../../elements/index.ts";
import type { LiveValues } from "../../../schemas/live-values.ts";
import { diffPlans } from "../../compiler/diff.ts";
import { loadRegistry } from "../registry.ts";
import { compileJob } from "./compile-job.ts";
import { patchPlan } from "./live-values.ts";
import { jobOn } from "./runner.fixture.ts";

const knowledge = { elements: await loadElements(), registry: loadRegistry() };
const job = jobOn({ sourceUri: "test:ball", graph: "detect", graphText: null });
const compiled = compileJob(job, knowledge);

const RULE = {
  alert: "gate",
  type: "flow-control",
  region: {
    type: "image",
    line: [
      [0.5, 0],
      [0.5, 1],
    ],
  },
};

const TAKEN: readonly (readonly [why: string, live: LiveValues])[] = [
  ["rules of alerts", { alerts: { rules: [RULE] } }],
  ["text that looks like a parameter", { alerts: { rules: [{ ...RULE, alert: "$model" }] } }],
  ["several nodes", { detect: { confidence: 0.7 }, alerts: { rules: [] } }],
];
for (const [why, live] of TAKEN)
  test(`a patched plan is the compiled one: ${why}`, () => {
    const patched = patchPlan(compiled, live, knowledge.elements)?.plan ?? assert.fail("it was compiled");
    const wanted = compileJob(job, knowledge, live).plan ?? assert.fail();
    assert.deepEqual(diffPlans(patched, wanted, knowledge), []);
    const changes = diffPlans(compiled.plan ?? assert.fail(), patched, knowledge);
    assert.deepEqual(
      changes.map((change) => change.label === "live" && change.author),
      Object.keys(live),
    );
  });

const LEFT: readonly (readonly [why: string, live: LiveValues])[] = [
  ["a value that does not fit", { alerts: { rules: [{ alert: "", type: "x" }] } }],
  ["a property that cannot change", { detect: { model: "other" } }],
  ["a node that is not there", { alrts: { rules: [] } }],
  ["an element of GStreamer", { frames: { "allow-not-linked": true } }],
  ["an element made of others", { source: { uri: "test:snow" } }],
];
for (const [why, live] of LEFT)
  test(`is left to the compiler: ${why}`, () => assert.equal(patchPlan(compiled, live, knowledge.elements), null));
