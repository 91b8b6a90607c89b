/** Small networks without detections, with the inputs and outputs of real ones. */
import { GraphBuilder, MessageWriter } from "./onnx/graph.ts";

const SIZE = 64;
/** Number of cells for the strides 8, 16 and 32. */
const CELLS = 84;

/** The input is 64×64; the output is that of a YOLOX with this number of classes. */
export function makeYolox(classCount: number): Uint8Array {
  const graph = new GraphBuilder();
  graph.input("images", "float32", [1, 3, SIZE, SIZE]);
  const shape = [1, CELLS, 5 + classCount];
  const nothing = graph.constant("nothing", new Float32Array(CELLS * (5 + classCount)), shape);
  graph.node("Identity", [nothing], "output");
  graph.output("output", "float32", shape);
  return graph.finish("nothing");
}

/** The same with its weights in another file, which must be `bytes` long. */
export function makeScatteredYolox(classCount: number, location: string): { onnx: Uint8Array; bytes: number } {
  const bytes = CELLS * (5 + classCount) * Float32Array.BYTES_PER_ELEMENT;
  const shape = [1, CELLS, 5 + classCount];
  const entry = (key: string, value: string) => new MessageWriter().text(1, key).text(2, value);
  const nothing = new MessageWriter();
  for (const size of shape) nothing.integer(1, size);
  nothing.integer(2, FLOAT32).text(8, "nothing");
  for (const [key, value] of [
    ["location", location],
    ["offset", "0"],
    ["length", String(bytes)],
  ] as const)
    nothing.message(13, entry(key, value));
  nothing.integer(14, 1);
  const graph = new MessageWriter()
    .message(1, new MessageWriter().text(1, "nothing").text(2, "output").text(4, "Identity"))
    .text(2, "scattered")
    .message(5, nothing)
    .message(11, describe("images", [1, 3, SIZE, SIZE]))
    .message(12, describe("output", shape));
  const opset = new MessageWriter().text(1, "").integer(2, 13);
  return { onnx: new MessageWriter().integer(1, 8).message(7, graph).message(8, opset).finish(), bytes };
}

const FLOAT32 = 1;

function describe(name: string, shape: readonly number[]): MessageWriter {
  const dimensions = new MessageWriter();
  for (const size of shape) dimensions.message(1, new MessageWriter().integer(1, size));
  const tensor = new MessageWriter().integer(1, FLOAT32).message(2, dimensions);
  return new MessageWriter().text(1, name).message(2, new MessageWriter().message(1, tensor));
}
