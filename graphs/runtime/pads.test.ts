import assert from "node:assert/strict";
import { test } from "node:test";
import { collector, compiledText, inputWith, start } from "../../test/graph.fixture.ts";
import { until } from "../../test/watch.fixture.ts";
import { compile } from "../compiler/compile.ts";
import { formatFault } from "../compiler/fault.ts";

/** A white picture of 64 by 48 at `x` of a black one of 320 by 48, through pads by name. */
const beside = (x: string, frames: number) => `graph: beside
params: { x: { type: integer, default: ${x}, live: true } }
chains:
  black:
    - videotestsrc: { num-buffers: ${frames}, pattern: black, is-live: true }
    - caps: "video/x-raw(memory:SystemMemory),format=I420,width=320,height=48,framerate=25/1"
    - to: mix.sink_4
  white:
    - videotestsrc: { num-buffers: ${frames}, pattern: white, is-live: true }
    - caps: "video/x-raw,format=I420,width=64,height=48,framerate=25/1"
    - to: mix.sink_7
  main:
    - compositor: { name: mix, sink_7::xpos: $x, sink_7::zorder: 9, sink_4::zorder: 1 }
    - caps: "video/x-raw(memory:SystemMemory),format=I420"
    - tee: { name: t }
  first: [{ from: t.src_3 }, queue, collect]
  second: [{ from: t.src_8 }, queue, fakesink]
`;

test("pads by name, their properties and memory features work in a running graph, also while PLAYING", async () => {
  const edges: number[] = [];
  const look = collector((frame) => {
    const row = frame.copy().subarray(0, 320);
    edges.push(row.findIndex((luma) => luma > 200));
  });
  const text = beside("128", 400);
  const compiled = compiledText(text, look);
  assert.deepEqual(compiled.plan?.liveParams, ["x"]);
  const running = await start(compiled, [look]);
  await until(() => edges.includes(128));
  await running.apply(compile({ file: "test.yaml", text }, { ...inputWith(look), params: { x: 200 } }));
  await until(() => edges.at(-1) === 200);
  await running.stop();
});

for (const [behaviour, change, expected] of [
  [
    "a pad that the template does not allow",
    ["mix.sink_7", "mix.out_7"],
    /a\.yaml:11:11: "mix" has no input pad "out_7" \(expected sink_%u/,
  ],
  ["a pad that is linked twice", ["mix.sink_7", "mix.sink_4"], /sink_4/],
  [
    "a property of a pad that is not linked",
    ["sink_4::zorder", "sink_5::zorder"],
    /sink_5::zorder is for a pad that is not linked/,
  ],
  [
    "an unknown property of a pad",
    ["sink_4::zorder", "sink_4::zordr"],
    /no property "zordr".*did you mean "sink_4::zorder"/,
  ],
  [
    "memory that a neighbour cannot give",
    ["video/x-raw,format=I420,width=64", "video/x-raw(memory:GLMemory),format=I420,width=64"],
    /accepts video\/x-raw\(memory:GLMemory\)/,
  ],
] as const)
  test(`${behaviour} is a located fault`, () => {
    const look = collector(() => undefined);
    const [from, to] = change;
    const text = beside("128", 5).replace(from, to);
    const faults = compile({ file: "a.yaml", text }, inputWith(look)).faults.map(formatFault);
    assert.match(faults.join("\n"), expected);
    assert.match(faults[0] ?? "", /^a\.yaml:\d+:\d+: /);
  });
