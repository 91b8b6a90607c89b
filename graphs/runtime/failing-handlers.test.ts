/** What handlers do wrong while frames wait for them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Type } from "typebox";
import { defineElement, type Handler } from "../../elements/element.ts";
import { compiledLaunch, start } from "../../test/graph.fixture.ts";
import { type GraphEvent, GraphFailure } from "./events.ts";

const never = new Promise<never>(() => {});

const sink = (name: string, create: () => Handler) =>
  defineElement({
    ...{ name, about: "Test: does what the test says.", example: "", kind: "sink", caps: "video/x-raw" },
    properties: Type.Object({}),
    create,
  });

async function run(name: string, handler: Handler, frameLimitMs?: number) {
  const element = sink(name, () => handler);
  const events: GraphEvent[] = [];
  const line = `source uri="test:ball?width=64&height=48&frames=10" ! decode ! ${name}`;
  let reachedNs: bigint | null = null;
  const starting = start(compiledLaunch(line, element), [element], {
    onEvent: (event) => void events.push(event),
    ...(frameLimitMs !== undefined && { frameLimitMs }),
    onClosing: (_, positionNs) => {
      reachedNs = positionNs;
    },
  });
  // Ten frames may be done, and the graph failed, before it is started.
  const error = await starting.then(
    async ({ ended }) => (await ended).error,
    (failure: unknown) => {
      assert.ok(failure instanceof GraphFailure, String(failure));
      return failure;
    },
  );
  return { error, reachedNs: reachedNs as bigint | null, events };
}

test("logs a handler that never settles, and ends the graph at the limit", async () => {
  const { error, events } = await run("stuck-process", { process: () => never }, 200);
  assert.equal(error?.message, "stuck-process: process() did not settle within 0.2 s");
  const warnings = events.flatMap((event) => (event.type === "log" && event.level === "warn" ? [event.message] : []));
  assert.equal(warnings.filter((text) => /process\(\) has not settled for .* it blocks frames/.test(text)).length, 1);
});

test("does the same for an end() that never settles", async () => {
  const { error } = await run("stuck-end", { process() {}, end: () => never }, 200);
  assert.equal(error?.message, "stuck-end: end() did not settle within 0.2 s");
});

for (const [kind, wrap] of [
  ["throws", (work: () => void) => work()],
  ["rejects", async (work: () => void) => work()],
] as const)
  test(`the position is before the frame that a sink ${kind} on: that is where to resume`, async () => {
    const times: bigint[] = [];
    const handler: Handler = {
      process: ({ index, ptsNs }) =>
        wrap(() => {
          if (index === 4) throw new Error("the fifth");
          times.push(ptsNs ?? -1n);
        }),
    };
    const { error, reachedNs } = await run(`sink-${kind}`, handler);
    assert.equal(error?.message, `sink-${kind}: the fifth`);
    assert.match(error?.trace[0] ?? "", /failing-handlers\.test\.ts:\d+:\d+/);
    assert.equal(times.length, 4);
    const frameNs = (times[1] ?? 0n) - (times[0] ?? 0n);
    assert.equal(reachedNs, (times[3] ?? 0n) + frameNs);
  });

test("logs an error of close() once, with its position", async () => {
  const handler: Handler = {
    process() {},
    close() {
      throw new Error("not closed");
    },
  };
  const { error, events } = await run("bad-close", handler);
  assert.equal(error, null);
  const logged = events.flatMap((event) =>
    event.type === "log" ? [`${event.level} ${event.node} ${event.message}`] : [],
  );
  assert.equal(logged.length, 1);
  assert.match(logged[0] ?? "", /^error bad-close close\(\) failed: not closed at .*failing-handlers\.test\.ts/);
});
