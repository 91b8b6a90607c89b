import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { stalledTerminal } from "../../../cli/terminal.fixture.ts";
import { makeFolder } from "../../../cli/windhover.fixture.ts";
import detect from "../../../elements/detect/detect.ts";
import { inputWith } from "../../../test/graph.fixture.ts";
import { WatchedGraph } from "../watched-graph.ts";
import { formatParams, formatSetting, listKnobs, ownSetting, toChanges } from "./knobs.ts";
import { readBudget } from "./tune.ts";

const folder = makeFolder();
const { terminal } = stalledTerminal();
const SOURCE = "test:ball?frames=5";
const options = { models: ["default", "quality"], cores: 2, tries: [], fixed: [] };

function open(graph: string, params: Readonly<Record<string, string>> = {}): WatchedGraph {
  return WatchedGraph.open({ graph, source: SOURCE, params }, inputWith(), terminal) ?? assert.fail();
}
const graph = open("detect");

function write(name: string, steps: string): string {
  const file = join(folder, `${name}.yaml`);
  const head = `graph: ${name}\nabout: A graph of a test.\nparams: { pace: { type: integer, default: 4, maximum: 4 } }`;
  writeFileSync(file, `${head}\nchains: { main: [source, decode, ${steps}, fakesink] }\n`);
  return file;
}

test("properties are changed through parameters of the graph where it has them", () => {
  const knobs = listKnobs(graph, detect, options);
  assert.deepEqual(
    knobs.map(({ name, param, values }) => [name, param, values]),
    [
      ["model", "model", ["default", "quality"]],
      ["every", "every", ["auto", 2, 3, 5]],
      ["threads", null, [1, 2]],
      ["tiles", null, [null, { columns: 2, rows: 2 }]],
    ],
  );
  const own = ownSetting(knobs);
  assert.deepEqual(toChanges(own, knobs), { params: {}, set: {} });
  const changed = { ...own, model: "quality", every: 3, tiles: { columns: 2, rows: 2 } };
  const expected = { params: { model: "quality", every: 3 }, set: { detect: { tiles: { columns: 2, rows: 2 } } } };
  assert.deepEqual(toChanges(changed, knobs), expected);
  assert.equal(formatSetting(changed), "model=quality every=3 threads=1 tiles=2x2");
  assert.deepEqual(formatParams({ model: "my model", every: 3 }), ["'model=my model'", "every=3"]);
});

test("parameters that are given stay, and values that a parameter does not allow are left out", () => {
  const given = listKnobs(open("detect", { model: "quality" }), detect, { ...options, fixed: ["model"] });
  assert.deepEqual(
    given.map(({ name }) => name),
    ["every", "threads", "tiles"],
  );
  const [every] = listKnobs(open(write("paced", "{ detect: { name: eyes, every: $pace } }")), detect, {
    ...options,
    models: [],
  });
  assert.deepEqual(every, { name: "every", node: "eyes", param: "pace", values: [4, 2, 3] });
});

test("--try selects properties and values", () => {
  const knobs = listKnobs(graph, detect, { ...options, tries: ["every=1,4", "tiles=3x2"] });
  assert.deepEqual(
    knobs.map(({ name, values }) => [name, values]),
    [
      ["every", ["auto", 1, 4]],
      ["tiles", [null, { columns: 3, rows: 2 }]],
    ],
  );
});

for (const [tries, message] of [
  [["evry=1"], /--try has "evry"; expected name=value,… of model, every, threads, tiles; did you mean "every"/],
  [["every=0"], /--try every has "0"; expected a value of the property/],
  [["tiles=2"], /--try tiles has "2"; expected columns and rows, as in 2x2/],
  [["threads=1,2,3,4,5,6,7,8,9"], /--try threads has 9 values; expected up to 8/],
  [["threads=1"], /nothing to tune in the graph "detect"/],
] as const)
  test(`rejects --try ${tries[0]}`, () =>
    assert.throws(() => listKnobs(graph, detect, { ...options, tries }), message));

test("rejects a graph with two detectors", () => {
  const twice = open(write("twice", "{ detect: { name: one } }, { detect: { name: two } }"));
  assert.throws(() => listKnobs(twice, detect, options), /tune needs one element `detect`.*"twice" has several/);
});

test("a budget is a time", () => {
  assert.deepEqual(["90s", "5m", "1.5h"].map(readBudget), [90_000, 300_000, 5_400_000]);
  for (const text of ["5", "0s", "m", "-5m"]) assert.throws(() => readBudget(text), /expected a time such as 90s, 5m/);
});
