import assert from "node:assert/strict";
import { test } from "node:test";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { GraphBuilder, MessageWriter } from "./graph.ts";

test("writes fields as in the examples of the protobuf specification", () => {
  const message = new MessageWriter()
    .integer(1, 150)
    .text(2, "testing")
    .message(3, new MessageWriter().integer(1, 150))
    .integer(4, -1)

    .finish();
  assert.equal(
    Buffer.from(message).toString("hex"),
    ["089601", "120774657374696e67", "1a03089601", "20ffffffffffffffffff01"].join(""),
  );
});

function buildExample(): Uint8Array {
  const graph = new GraphBuilder();
  const input = graph.input("input", "float32", [2, 3]);
  const shifted = graph.node("Add", [input, graph.constant("row", Float32Array.of(10, 20, 30))], "shifted");
  graph.nodeOfMany("TopK", [shifted, graph.integers("two", [2])], ["values", "places"], { axis: -1, largest: 0 });
  graph.output("values", "float32", [2, 2]);
  graph.output("places", "int64", [2, 2]);
  const half = graph.scalar("half", Float32Array.of(0.5));
  graph.node("QuantizeLinear", [input, half, graph.scalar("zero", Int8Array.of(-4))], "bytes");
  graph.node("Transpose", ["bytes"], "turned", { perm: [1, 0] });
  graph.output("turned", "int8", [3, 2]);
  const limit = graph.scalar("limit", Float32Array.of(2));
  graph.node("Clip", [input, "", limit], "clipped");
  graph.output("clipped", "float32", [2, 3]);
  return graph.finish("example");
}

test("onnxruntime loads and runs a built graph", async () => {
  const session = await InferenceSession.create(buildExample());
  const input = new Tensor("float32", Float32Array.of(1, -30, 3, 4, 5, -60), [2, 3]);
  const { values, places, turned, clipped } = await session.run({ input });
  assert.deepEqual(Array.from(values?.data as Float32Array), [-10, 11, -30, 14]);
  assert.deepEqual(Array.from(places?.data as BigInt64Array), [1n, 0n, 2n, 0n]);
  assert.deepEqual(Array.from(turned?.data as Int8Array), [-2, 4, -64, 6, 2, -124]);
  assert.deepEqual(Array.from(clipped?.data as Float32Array), [1, -30, 2, 2, 2, -60]);
  await session.release();
});

test("gives the same bytes for the same calls", () => {
  assert.deepEqual(buildExample(), buildExample());
});

test("rejects a constant whose values do not match its shape", () => {
  const build = () => new GraphBuilder().constant("odd", Int32Array.of(1, 2, 3), [2, 2]);
  assert.throws(build, /constant odd \[2,2\] needs 4 values, received 3/);
});

test("reuses a constant of the same name", async () => {
  const graph = new GraphBuilder();
  graph.constant("one", Float32Array.of(1));
  graph.node("Add", [graph.constant("one", Float32Array.of(1)), graph.input("input", "float32", [1])], "sum");
  graph.output("sum", "float32", [1]);
  const session = await InferenceSession.create(graph.finish("twice"));
  const { sum } = await session.run({ input: new Tensor("float32", Float32Array.of(2), [1]) });
  assert.deepEqual(Array.from(sum?.data as Float32Array), [3]);
  await session.release();
});
