import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { stalledTerminal } from "../../cli/terminal.fixture.ts";
import { makeFolder } from "../../cli/windhover.fixture.ts";
import { makeLightModel } from "../../elements/detect/detect.fixture.ts";
import { detectWith } from "../../elements/detect/run.fixture.ts";
import { inputWith } from "../../test/graph.fixture.ts";
import { WatchedGraph } from "./watched-graph.ts";

const folder = makeFolder();
const SOURCE = "test:ball?width=64&height=48&fps=10&frames=20";
const knowledge = inputWith(detectWith(makeLightModel()));
const { terminal, reader } = stalledTerminal();

function open(name: string, chain: string, params: Readonly<Record<string, string>> = {}): WatchedGraph | null {
  const graph = join(folder, `${name}.yaml`);
  const about = "about: A graph of a test.\nparams: { every: { type: integer, default: 1 } }";
  writeFileSync(graph, `graph: ${name}\n${about}\nchains: { main: [source, decode, ${chain}] }\n`);
  return WatchedGraph.open({ graph, source: SOURCE, params }, knowledge, terminal);
}

const tracked = "{ detect: { name: eyes, every: $every } }, { track: { name: ids } }, fakesink";

test("records tracks and detections of every frame, and the speed", async () => {
  const counts: number[] = [];
  const run = await open("tracked", tracked)?.run(null, (count) => counts.push(count));
  const { frames, hasTracks, framesPerSecond, inputSize } = run ?? assert.fail();
  assert.deepEqual([frames.length, counts.at(-1), hasTracks], [20, 20, true]);
  assert.deepEqual(inputSize, { width: 64, height: 48 });
  assert.ok(framesPerSecond > 0);
  assert.ok(frames.every(({ detections }) => detections.length > 0));
  assert.ok(frames.at(-1)?.tracks.every(({ className }) => className === "light"));
  assert.equal(new Set(frames.map(({ ptsNs }) => ptsNs)).size, 20);
});

test("a limit of frames, parameters and properties apply", async () => {
  const graph = open("changed", tracked, { every: "3" }) ?? assert.fail();
  assert.equal(graph.nodes.find(({ author }) => author === "eyes")?.properties.every, 3);
  const inferred = async (changes?: Parameters<WatchedGraph["run"]>[2]) => {
    const { frames } = await graph.run(6, () => {}, changes);
    // Without inference only the tracks are known, and weak detections are not among them.
    return frames.map(({ detections, tracks }) => detections === tracks);
  };
  const thirds = [false, true, true, false, true, true];
  assert.deepEqual(await inferred(), thirds);
  assert.deepEqual(await inferred({ params: { every: 2 }, set: {} }), [false, true, false, true, false, true]);
  assert.deepEqual(await inferred({ params: {}, set: { eyes: { every: 1 } } }), Array(6).fill(false));
});

test("a graph without a tracker has detections only", async () => {
  const { frames, hasTracks } = (await open("bare", "detect, fakesink")?.run(2, () => {})) ?? assert.fail();
  assert.equal(hasTracks, false);
  for (const { tracks } of frames) assert.equal(new Set(tracks.map(({ id }) => id)).size, tracks.length);
});

test("rejects a graph without objects, wrong parameters, and shows faults", async () => {
  assert.throws(() => open("blind", "fakesink"), /the graph "blind" detects no objects/);
  assert.throws(() => open("other", tracked, { evry: "1" }), /evry=1: .*did you mean "every"/);
  assert.equal(open("faulty", "detct, fakesink"), null);
  await reader.read();
  assert.match(reader.text, /faulty\.yaml:4:\d+: unknown element "detct"/);
});
