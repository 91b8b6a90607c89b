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
  test("finds no difference in a plan that is only moved and commented", () => {
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

  test("any other property of it needs a relaunch", () => {
    assert.deepEqual(diffPlans(planOf(DETECT), planOf(DETECT, { params: { model: "x" } }), world), [
      relaunch('property "model" of "detect" is not mutable while PLAYING'),
    ]);
  });

  const steps = (step: string, rest = "") =>
    `graph: g\nchains:\n  main: [source, { tee: { name: t } }, ${step}, print]\n${rest}`;

  test("a live property of a GStreamer element is live, and one that is removed is reset to its default", () => {
    assert.deepEqual(diff(steps("{ queue: { max-size-buffers: 3 } }"), steps("queue")), [
      { label: "live", node: "queue", author: "queue", property: "max-size-buffers", from: 3, to: undefined },
    ]);
  });

  test("a composite's live property is live on its node", () => {
    assert.deepEqual(diff(steps("stage"), steps("{ stage: { buffers: 2 } }")), [
      { label: "live", node: "stage", author: "stage", property: "max-size-buffers", from: 8, to: 2 },
    ]);
  });

  test("added, removed and replaced nodes and other links need a relaunch", () => {
    assert.deepEqual(diff(steps("queue"), steps("queue, identity")), [relaunch('"identity" (identity) is new')]);
    assert.deepEqual(diff(steps("queue, identity"), steps("queue")), [relaunch('"identity" (identity) is removed')]);
    assert.deepEqual(diff(steps("{ queue: { name: n } }"), steps("{ identity: { name: n } }")), [
      relaunch('"n" changes from queue to identity'),
    ]);
    assert.deepEqual(diff(steps("queue, identity"), steps("identity, queue")), [
      relaunch('the elements of "main" are linked differently'),
    ]);
  });

  test("other properties of a driver need a relaunch", () => {
    assert.deepEqual(
      diff(
        "graph: g\nchains: { main: [source, print] }",
        "graph: g\nchains: { main: [{ source: { latency-ms: 5 } }, print] }",
      ),
      [relaunch('property "latency-ms" of "source" is not mutable while PLAYING')],
    );
  });

  test("another source or pace needs a relaunch", () => {
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

  test("attaches an added branch and detaches a removed one", () => {
    assert.deepEqual(diff(steps("queue"), branch("identity")), [{ label: "branch", action: "attach", segment: "b" }]);
    assert.deepEqual(diff(branch("identity"), steps("queue")), [{ label: "branch", action: "detach", segment: "b" }]);
  });

  test("detaches a changed branch and attaches it again", () => {
    assert.deepEqual(diff(branch("identity"), branch("{ identity: { sleep-time: 5 } }")), [
      { label: "branch", action: "detach", segment: "b" },
      { label: "branch", action: "attach", segment: "b" },
    ]);
  });

  test("keeps a branch in which only live properties changed", () => {
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
