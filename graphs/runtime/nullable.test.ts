/** Properties and parameters that may be nothing at all, from the command line's words to the running element. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Type } from "typebox";
import { defineElement } from "../../elements/element.ts";
import { inputWith, start } from "../../test/graph.fixture.ts";
import { type Compiled, compile } from "../compiler/compile.ts";
import { formatFault } from "../compiler/fault.ts";
import { coerceParams } from "../compiler/schema-check.ts";

const received: string[] = [];

const sieve = defineElement({
  name: "sieve",
  about: "Test: takes a number, or null for its own choice.",
  example: "",
  kind: "transform",
  caps: "video/x-raw",
  properties: Type.Object({
    mesh: Type.Union([Type.Number({ minimum: 0, maximum: 1 }), Type.Null()], { default: null, live: true }),
    pick: Type.Array(Type.String(), { default: [], live: true }),
    every: Type.Union([Type.Literal("auto"), Type.Integer({ minimum: 1 })], { default: "auto" }),
  }),
  create(properties) {
    received.push(JSON.stringify(properties));
    return { process() {}, update: (next) => void received.push(JSON.stringify(next)) };
  },
});

const TEXT = `
graph: nullable
about: A param that may be null.
params:
  mesh: { type: [number, "null"], minimum: 0, maximum: 1, default: null, live: true }
  pick: { type: array, items: { type: string }, default: [], live: true }
  every: { anyOf: [{ const: auto }, { type: integer, minimum: 1 }], default: auto }
chains:
  main:
    - source: { uri: "test:ball?width=64&height=48", pace: realtime }
    - sieve: { mesh: $mesh, pick: $pick, every: $every }
    - fakesink
`;

function compiled(words: Readonly<Record<string, string>>): Compiled {
  const read = (params: object, mode: "run" | "check") =>
    compile({ file: "nullable.yaml", text: TEXT }, { ...inputWith(sieve), params: { ...params }, mode });
  return read(coerceParams(read({}, "check").paramSchema, words), "run");
}

test("null, a number and null again reach the running element", async () => {
  const graph = await start(compiled({}), [sieve]);
  const labels: string[][] = [];
  for (const words of [{ mesh: "0.25", pick: "cat,dog" }, { mesh: "null" }, { mesh: "0" }]) {
    const changes = await graph.apply(compiled(words));
    labels.push(changes.map(({ label }) => label));
  }
  await graph.stop();
  assert.deepEqual(labels, [["live", "live"], ["live", "live"], ["live"]]);
  assert.deepEqual(received, [
    '{"mesh":null,"pick":[],"every":"auto"}',
    '{"mesh":0.25,"pick":["cat","dog"],"every":"auto"}',
    '{"mesh":null,"pick":[],"every":"auto"}',
    '{"mesh":0,"pick":[],"every":"auto"}',
  ]);
});

for (const [words, message] of [
  [{ mesh: "1.5" }, /"mesh" is 1\.5 .*a number from 0 to 1 or null/],
  [{ mesh: "much" }, /"mesh" is "much" .*a number from 0 to 1 or null/],
  [{ every: "0" }, /"every" is 0 .*"auto" or a whole number of at least 1/],
] as const)
  test(`${JSON.stringify(words)} is rejected with the expected value`, () => {
    const [fault, ...more] = compiled(words).faults;
    assert.equal(more.length, 0);
    assert.match(fault === undefined ? "no fault" : formatFault(fault), message);
  });

test("accepts a number of frames besides a word", () => {
  const { plan, faults } = compiled({ every: "3" });
  assert.deepEqual(faults, []);
  assert.equal(plan?.main.nodes.find(({ element }) => element === "sieve")?.properties.every, 3);
});
