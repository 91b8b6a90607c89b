import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonRecord } from "../../schemas/json.ts";
import { collector, compiledText, inputWith, start } from "../../test/graph.fixture.ts";
import { Watch } from "../../test/watch.fixture.ts";
import { diffPlans } from "../compiler/diff.ts";
import { elementStep, type GraphDocument } from "../compiler/document.ts";
import { propertiesOfFactory } from "../compiler/inspect.ts";
import { findLiveParams, listParamUses } from "../compiler/live-params.ts";
import type { GraphPlan } from "../compiler/plan.ts";
import { explain } from "../compiler/plan-to-text.ts";

const knowledge = inputWith();
const at = { file: null, line: 1, column: 1 };

/** A graph of one element, as far as a change of its properties needs it. */
const planOf = (factory: string, properties: JsonRecord): GraphPlan => ({
  ...{
    graph: "a",
    graphAt: at,
    about: "",
    file: null,
    params: {},
    liveParams: [],
    fixedParams: {},
    live: false,
    source: null,
  },
  main: {
    ...{ name: "main", tee: null, links: [], drivers: [] },
    nodes: [{ name: "a", author: "a", element: factory, kind: "native", factory, properties, at }],
  },
  ...{ branches: [], slots: {}, slotTees: {}, prefer: [], offers: [] },
});

/** The same with a parameter for each property, all declared live. */
const documentOf = (element: string, names: readonly string[]): GraphDocument => ({
  ...{ file: null, graph: "a", graphAt: at, about: "", extends: null, paramsAt: at, slotsAt: at, damaged: false },
  ...{ parts: [], slots: [], tests: [] },
  params: names.map((name) => ({ name, at, schema: {}, live: true, written: { kind: "map", at, entries: [] } })),
  chains: [
    {
      ...{ name: "main", at, when: null },
      steps: [
        elementStep(
          at,
          element,
          names.map((key) => ({ key, at, value: { kind: "scalar", at, value: `$${key}` } })),
        ),
      ],
    },
  ],
  edits: { set: [], insert: [], remove: [] },
});

test("inspect, live_params and a change of the running graph agree on every property of every GStreamer element", () => {
  const live: string[] = [];
  for (const { name: factory } of knowledge.registry.list()) {
    const info = knowledge.registry.get(factory);
    // What an author can write: `$` before a letter is a parameter.
    const shown = info === undefined ? [] : propertiesOfFactory(info).filter(({ name }) => /^[a-zA-Z]/.test(name));
    const names = shown.map(({ name }) => name);
    const before = planOf(factory, Object.fromEntries(names.map((name) => [name, 0])));
    const after = planOf(factory, Object.fromEntries(names.map((name) => [name, 1])));
    const changed = diffPlans(before, after, knowledge).flatMap((change) =>
      change.label === "live" ? [change.property] : [],
    );
    const document = documentOf(factory, names);
    const uses = listParamUses(document, knowledge);
    const listed = findLiveParams(document, uses);
    const inspected = shown.filter((property) => property.live).map(({ name }) => name);
    assert.deepEqual([...changed].sort(), [...inspected].sort(), factory);
    assert.deepEqual([...listed.live].sort(), [...inspected].sort(), factory);
    live.push(...inspected.map((name) => `${factory}.${name}`));
  }
  for (const name of ["videobalance.brightness", "gamma.gamma", "queue.max-size-buffers", "volume.volume"])
    assert.ok(live.includes(name), `${name} is mutable while PLAYING`);
  for (const name of ["filesrc.location", "videotestsrc.is-live", "x264enc.pass"])
    assert.ok(!live.includes(name), `${name} is not`);
});

const graphWith = (brightness: number, gamma: number) => `
graph: adjusted
about: A picture whose brightness changes while it plays.
params:
  light: { type: number, default: ${brightness}, live: true }
  curve: { type: number, default: ${gamma}, live: true }
  pattern: { type: string, default: solid-color, live: true }
chains:
  main:
    - videotestsrc: { is-live: true, pattern: $pattern, foreground-color: 0xff808080 }
    - caps: video/x-raw,format=I420,width=32,height=32,framerate=50/1
    - videobalance: { brightness: $light }
    - gamma: { gamma: $curve }
    - collect
`;

test("controllable properties change the pixels of the frames that follow, in the same pipeline", async () => {
  const lumas: number[] = [];
  const watch = new Watch();
  const sink = collector((frame) => {
    lumas.push(frame.planes[0]?.data[0] ?? -1);
    watch.check();
  });
  const graph = await start(compiledText(graphWith(0, 1), sink), [sink]);
  const { pipeline } = graph;
  await watch.until("a frame", () => lumas.length > 0);
  const plain = lumas.at(-1) ?? 0;
  const labels = async (brightness: number, gamma: number) =>
    (await graph.apply(compiledText(graphWith(brightness, gamma), sink))).map(({ label }) => label);
  assert.deepEqual(await labels(0.3, 1), ["live"]);
  await watch.until("brighter frames", () => (lumas.at(-1) ?? 0) > plain + 30);
  const bright = lumas.at(-1) ?? 0;
  assert.deepEqual(await labels(0.3, 0.3), ["live"]);
  await watch.until("darker frames", () => (lumas.at(-1) ?? 255) < bright - 30);
  assert.equal(graph.pipeline, pipeline);
  await graph.stop();
});

test("a live parameter is shown as live only if all properties that use it are mutable while PLAYING", () => {
  const sink = collector(() => {});
  const { plan } = compiledText(
    `
graph: mixed
params:
  size: { type: integer, default: 3, live: true }
  file: { type: string, default: a, live: true }
  draw: { type: boolean, default: true, live: true }
chains:
  main:
    - videotestsrc
    - queue: { max-size-buffers: $size }
    - tee: { name: frames }
  a: { when: draw, chain: [{ from: frames }, queue, { collect: {} }] }
slots:
  b: { chain: [{ from: frames }, queue, { filesink: { location: "/tmp/\${file}" } }] }
`,
    sink,
  );
  assert.deepEqual(plan?.liveParams, ["size"]);
  assert.deepEqual(plan?.fixedParams, {
    file: 'property "location" of "b/filesink" is not mutable while PLAYING',
    draw: '`when:` of "a" depends on it',
  });
  const text = plan === null ? "" : explain(plan);
  assert.match(text, /size = 3 {2}\(live\)/);
  assert.match(text, /file = "a" {2}\(not live: property "location" of "b\/filesink" is not mutable/);
});
