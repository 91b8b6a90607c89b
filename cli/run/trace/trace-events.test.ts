import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { StepSpans } from "../../../graphs/runtime/spans.ts";
import { expectTracks } from "./trace.fixture.ts";
import { TraceEvents } from "./trace-events.ts";

const step = (name: string, spans: StepSpans["spans"]): StepSpans => ({
  ...{ segment: "main", step: name, element: name, kind: "native", lost: 0 },
  spans,
});
const span = (fromNs: number, toNs: number, queued: number | null = null) => ({ ptsNs: 40e6, fromNs, toNs, queued });

test("a slice per frame, with microseconds since the start of the trace", () => {
  const [name, sort, slice] = new TraceEvents(1000).ofSteps([step("decode", [span(2000, 4500)])]);
  assert.deepEqual(name?.args, { name: "decode" });
  assert.deepEqual(sort?.args, { sort_index: 0 });
  const expected = { name: "decode", cat: "gstreamer", ph: "X", pid: 1, tid: 1, ts: 1, dur: 2.5, args: { pts_ms: 40 } };
  assert.deepEqual(slice, expected);
});

test("a moment is an instant, a wait in a queue an asynchronous slice and a level", () => {
  const events = new TraceEvents(0).ofSteps([step("source", [span(5, 5)]), step("stage", [span(0, 9000, 3)])]);
  const shown = events.filter(({ ph }) => ph !== "M").map((event) => ({ ...event, pid: 0, args: event.args }));
  assert.deepEqual(
    shown.map(({ ph, name }) => [ph, name]),
    [
      ["i", "source"],
      ["b", "stage"],
      ["e", "stage"],
      ["C", "stage level"],
    ],
  );
  assert.deepEqual(shown.at(-1)?.args, { frames: 3 });
});

test("threads of a step are sorted after its own tracks and before the next step", () => {
  const events = new TraceEvents(0);
  const steps = events.ofSteps([step("detect", [span(0, 9), span(1, 9)]), step("track", [span(9, 10)])]);
  const work = ["inference", "decoding"].flatMap((thread) =>
    events.ofWork("detect", { thread, ptsNs: null, fromNs: 2n, toNs: 3n }),
  );
  const named = [...steps, ...work].filter(({ name }) => name === "thread_name");
  const sorted = [...steps, ...work].flatMap(({ name, args }) =>
    name === "thread_sort_index" ? [Number(Object.values(args)[0])] : [],
  );
  assert.deepEqual(
    named.map(({ args }) => Object.values(args)[0]),
    ["detect", "detect (2)", "track", "detect inference", "detect decoding"],
  );
  assert.deepEqual(sorted, [0, 1, 1000, 500, 550]);
});

test("slices on a track never overlap, in whatever order and batches they come", () => {
  const spans = fc.array(fc.tuple(fc.nat(1000), fc.integer({ min: 1, max: 200 })), { maxLength: 30 });
  fc.assert(
    fc.property(fc.array(spans, { maxLength: 4 }), (batches) => {
      const events = new TraceEvents(0);
      const slices = batches.flatMap((batch) =>
        events.ofSteps([
          step(
            "a",
            batch.map(([from, length]) => span(from, from + length)),
          ),
        ]),
      );
      expectTracks(slices);
    }),
  );
});
