import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { CompileInput } from "./compile.ts";
import { compileText, DETECT, messagesOf, world } from "./compiler.fixture.ts";
import { diffPlans } from "./diff.ts";
import type { GraphPlan, PlanChange } from "./plan.ts";

function planOf(text: string, input: Partial<CompileInput> = {}): GraphPlan {
  const compiled = compileText(text, input);
  assert.deepEqual(messagesOf(compiled), []);
  return compiled.plan ?? assert.fail();
}

const diff = (before: string, after: string): readonly PlanChange[] => diffPlans(planOf(before), planOf(after), world);
const relaunch = (reason: string): PlanChange => ({ label: "relaunch", reason });

describe("the difference of two plans", () => {
  test("of a plan and itself, moved and commented, is nothing", () => {
    assert.deepEqual(diff(DETECT, `# moved\n\n${DETECT}`), []);
  });

  test("a live property of a TypeScript element is live", () => {
    const change: PlanChange = {
      label: "live",
      node: "detect",
      author: "detect",
      property: "confidence",
      from: 0.4,
      to: 0.6,
    };
    assert.deepEqual(diffPlans(planOf(DETECT), planOf(DETECT, { params: { confidence: 0.6 } }), world), [change]);
  });

  test("any other property of it is a relaunch that names it", () => {
    assert.deepEqual(diffPlans(planOf(DETECT), planOf(DETECT, { params: { model: "x" } }), world), [
      relaunch('"detect" cannot change its property "model" while it runs'),
    ]);
  });

  const steps = (step: string, rest = "") =>
    `graph: g\nchains:\n  main: [source, { tee: { name: t } }, ${step}, print]\n${rest}`;

  test("a live property of a GStreamer element is live, and one that vanished goes back to its default", () => {
    assert.deepEqual(diff(steps("{ queue: { max-size-buffers: 3 } }"), steps("queue")), [
      { label: "live", node: "queue", author: "queue", property: "max-size-buffers", from: 3, to: undefined },
    ]);
  });

  test("what a composite's live property sets is live on its node", () => {
    assert.deepEqual(diff(steps("stage"), steps("{ stage: { buffers: 2 } }")), [
      { label: "live", node: "stage", author: "stage", property: "max-size-buffers", from: 8, to: 2 },
    ]);
  });

  test("nodes that come, go or turn into others, and other links, are relaunches", () => {
    assert.deepEqual(diff(steps("queue"), steps("queue, identity")), [relaunch('"identity" (identity) is new')]);
    assert.deepEqual(diff(steps("queue, identity"), steps("queue")), [relaunch('"identity" (identity) is gone')]);
    assert.deepEqual(diff(steps("{ queue: { name: n } }"), steps("{ identity: { name: n } }")), [
      relaunch('"n" turns from queue into identity'),
    ]);
    assert.deepEqual(diff(steps("queue, identity"), steps("identity, queue")), [
      relaunch('the elements of "main" are linked in another way'),
    ]);
  });

  test("a driver that would need other properties is a relaunch", () => {
    assert.deepEqual(
      diff(
        "graph: g\nchains: { main: [source, print] }",
        "graph: g\nchains: { main: [{ source: { latency-ms: 5 } }, print] }",
      ),
      [relaunch('"source" cannot change its property "latency-ms" while it runs')],
    );
  });

  test("another source or pace is a relaunch", () => {
    const on = (uri: string, pace: "fast" | "realtime") =>
      planOf("graph: g\nchains: { main: [source, print] }", { source: { uri, pace } });
    assert.deepEqual(
      diffPlans(on("test:ball", "fast"), on("test:snow", "fast"), world)[0],
      relaunch("the source changes from test:ball to test:snow"),
    );
    assert.deepEqual(diffPlans(on("test:ball", "fast"), on("test:ball", "realtime"), world), [
      relaunch("the pace of the source changes from fast to realtime"),
    ]);
  });

  const branch = (step: string) => steps("queue", `  b: [{ from: t }, ${step}, fakesink]\n`);

  test("a branch that comes or goes is attached or detached", () => {
    assert.deepEqual(diff(steps("queue"), branch("identity")), [{ label: "branch", action: "attach", segment: "b" }]);
    assert.deepEqual(diff(branch("identity"), steps("queue")), [{ label: "branch", action: "detach", segment: "b" }]);
  });

  test("a changed branch is detached and attached anew", () => {
    assert.deepEqual(diff(branch("identity"), branch("{ identity: { sleep-time: 5 } }")), [
      { label: "branch", action: "detach", segment: "b" },
      { label: "branch", action: "attach", segment: "b" },
    ]);
  });

  test("a branch of which only live properties changed stays", () => {
    assert.deepEqual(
      diff(branch("{ jpegenc: { quality: 5 } }"), branch("{ jpegenc: { quality: 6 } }")).map((change) => change.label),
      ["live"],
    );
  });

  test("a relaunch comes first", () => {
    const after = steps("identity", "  b: [{ from: t }, fakesink]\n");
    assert.deepEqual(
      diff(steps("queue"), after).map((change) => change.label),
      ["relaunch", "relaunch", "branch"],
    );
  });
});
