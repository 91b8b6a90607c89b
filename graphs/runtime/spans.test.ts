import assert from "node:assert/strict";
import { test } from "node:test";
import { makeLightModel } from "../../elements/detect/detect.fixture.ts";
import { detectWith } from "../../elements/detect/run.fixture.ts";
import type { TracedWork } from "../../elements/element.ts";
import { collector, compiledLaunch, delay, start } from "../../test/graph.fixture.ts";
import { SpanReader, type StepSpans } from "./spans.ts";
import { StatsReader, type StepStats } from "./stats.ts";

const FRAMES = 30;
const SOURCE = `source uri="test:ball?width=64&height=48&frames=${FRAMES}" pace=fast ! decode`;
const MS = 1e6;

test("the spans of a step are those that its statistics are made of", async () => {
  const extra = [delay, collector(() => {})];
  let readers: readonly [SpanReader, StatsReader] | null = null;
  let spans: readonly StepSpans[] = [];
  let stats: readonly StepStats[] = [];
  const graph = await start(compiledLaunch(`${SOURCE} ! stage ! delay ! collect`, ...extra), extra, {
    onBuilt: (_pipeline, _segments, _origins, built) => {
      readers = [new SpanReader(built), new StatsReader(built)];
    },
    onClosing: () => {
      [spans, stats] = [readers?.[0].read() ?? [], readers?.[1].read() ?? []];
    },
  });
  assert.equal((await graph.ended).state, "finished");
  assert.deepEqual(
    spans.map(({ step }) => step),
    stats.map(({ step }) => step),
  );
  for (const [index, { step, spans: found, lost }] of spans.entries()) {
    const { frames, meanMs, capacity } = stats[index] ?? assert.fail();
    assert.deepEqual({ step, count: found.length, lost }, { step, count: frames, lost: 0 });
    const sumMs = found.reduce((sum, { fromNs, toNs }) => sum + (toNs - fromNs) / MS, 0);
    // Two probes on one pad run one after the other.
    assert.ok(Math.abs(sumMs - meanMs * frames) < 5 + 0.1 * sumMs, `${step}: ${sumMs}, ${meanMs * frames}`);
    for (const { ptsNs, queued } of found)
      assert.deepEqual([ptsNs === null, queued === null], [false, capacity === null], step);
  }
  const [delayed] = spans.filter(({ step }) => step === "delay");
  assert.equal(new Set(delayed?.spans.map(({ ptsNs }) => ptsNs)).size, FRAMES);
});

test("the inference thread reports its work on every frame, one after the other", async () => {
  const work: (TracedWork & { readonly node: string })[] = [];
  const extra = [detectWith(makeLightModel()), collector(() => {})];
  const beforeNs = process.hrtime.bigint();
  const graph = await start(compiledLaunch(`${SOURCE} ! detect ! collect`, ...extra), extra, {
    trace: (node, done) => work.push({ node, ...done }),
  });
  assert.equal((await graph.ended).state, "finished");
  assert.equal(new Set(work.map(({ ptsNs }) => ptsNs)).size, FRAMES);
  let endNs = beforeNs;
  for (const { node, thread, fromNs, toNs } of work) {
    assert.deepEqual([node, thread], ["detect", "inference"]);
    assert.ok(endNs <= fromNs && fromNs < toNs, `${endNs} ${fromNs} ${toNs}`);
    endNs = toNs;
  }
  assert.ok(endNs < process.hrtime.bigint());
});
