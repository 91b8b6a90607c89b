import assert from "node:assert/strict";
import { test } from "node:test";
import type { PlanNode } from "../../graphs/compiler/plan.ts";
import { FrameCount } from "./frame-count.ts";

const source = (name: string): PlanNode => ({
  name,
  author: name,
  element: "source",
  kind: "native",
  factory: "videotestsrc",
  properties: {},
  at: { file: null, line: 1, column: 1 },
});
const SEGMENTS = [{ name: "main", tee: null, nodes: [source("a"), source("b")], links: [], drivers: [] }];

/** A pipeline whose sources have given so many frames. */
const pipeline = (counts: Readonly<Record<string, number>>) => ({
  meter() {},
  meters: (names: readonly string[]) =>
    Object.fromEntries(
      names.map((name) => {
        const out = counts[name.replace(/^.* /, "")] ?? 0;
        return [name, { in: out, out, meanMs: 0, p50Ms: 0, p95Ms: 0, dropped: 0 }];
      }),
    ),
});

test("frames of all sources are added up over pipelines, and a limit is measured by the source that gave most", () => {
  const count = new FrameCount();
  count.place(pipeline({ a: 6, b: 4 }), SEGMENTS);
  count.keep();
  count.place(pipeline({ a: 1, b: 2 }), SEGMENTS);
  count.read();
  assert.deepEqual(
    { frames: count.frames, most: count.most, sources: count.sources },
    { frames: 13, most: 8, sources: 2 },
  );
});
