/** Small networks that see nothing, with the inputs and outputs of real ones. */
import { GraphBuilder } from "./onnx/graph.ts";

const SIZE = 64;
/** Of strides 8, 16 and 32. */
const CELLS = 84;

/** Takes 64×64; gives what a YOLOX of so many classes gives. */
export function makeYolox(classCount: number): Uint8Array {
  const graph = new GraphBuilder();
  graph.input("images", "float32", [1, 3, SIZE, SIZE]);
  const shape = [1, CELLS, 5 + classCount];
  const nothing = graph.constant("nothing", new Float32Array(CELLS * (5 + classCount)), shape);
  graph.node("Identity", [nothing], "output");
  graph.output("output", "float32", shape);
  return graph.finish("nothing");
}
