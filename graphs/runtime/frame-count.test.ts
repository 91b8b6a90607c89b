import assert from "node:assert/strict";
import { test } from "node:test";
import { FrameCount } from "./frame-count.ts";

const ORIGINS = ["a", "b"];

/** A pipeline whose sources have produced these frames. */
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
  count.place(pipeline({ a: 6, b: 4 }), ORIGINS);
  count.keep();
  count.place(pipeline({ a: 1, b: 2 }), ORIGINS);
  count.read();
  assert.deepEqual(
    { frames: count.frames, most: count.most, sources: count.sources },
    { frames: 13, most: 8, sources: 2 },
  );
});
