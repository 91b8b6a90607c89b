/**
 * Google's EfficientDet-Lite (int8 TFLite) → ONNX.
 *
 * Input `images`: uint8 [1, height, width, 3], RGB, letterboxed to the top left on 127. Outputs, best first: `boxes`
 * float32 [1, K, 4] (left, top, right, bottom in pixels of the input, not clipped), `scores` float32 [1, K] and
 * `classes` int64 [1, K] (place in the labels kept, from 0). The same file and order give the same bytes.
 */
import { type Int8Kernels, int8KernelsHere } from "../int8-kernels.ts";
import { GraphBuilder } from "../onnx/graph.ts";
import { BadTflite } from "../tflite/flatbuffer.ts";
import { readModel, type Tensor } from "../tflite/read-model.ts";
import { type AnchorGrid, layAnchors } from "./anchors.ts";
import { chooseOutputs, type KeptClasses } from "./classes.ts";
import { type Activations, encode, isSame } from "./encoding.ts";
import { NetworkWriter } from "./network.ts";
import { findParts } from "./parts.ts";
import { planSizes, type Size, type Sizes, sizeOf } from "./plan-sizes.ts";
import { type Head, writeSelection } from "./selection.ts";

export interface EfficientDetOrder extends KeptClasses {
  /** The size the model was trained for, or multiples of 128. */
  readonly width: number;
  readonly height: number;
  /** Those that will run it; by default those of this machine. */
  readonly kernels?: Int8Kernels;
}

const BOX_NUMBERS = 4;
/** Nine anchors of a few hundred classes have a few thousand. More are a damaged file, and much memory. */
const MOST_CHANNELS = 65_536;
/** A crowd has up to fifteen pairs an object that are worth looking at; a large picture may hold several crowds. */
const LIMITS = { fewAnchors: 1000, manyAnchors: 2000 };
const MANY_ANCHORS = 100_000;

export function convertEfficientDet(tflite: Uint8Array, order: EfficientDetOrder): Uint8Array {
  const model = readModel(tflite);
  const parts = findParts(model);
  const image: Size = { down: order.height, across: order.width };
  const sizes = planSizes(model, parts.image, parts.network, image);
  const perCell = shareOf(parts.boxHeads, BOX_NUMBERS);
  const headClasses = shareOf(parts.classHeads, perCell);
  const anchors = layAnchors(
    parts.anchors,
    { image: sizeOf(parts.image), levels: parts.boxHeads.map(sizeOf), perCell },
    gridOf(parts.boxHeads, sizes, image, perCell),
  );
  const outputs = chooseOutputs(headClasses, order);
  const rows = Array.from({ length: perCell }, (_, i) => outputs.map((output) => i * headClasses + output)).flat();

  const { activations, saturate } = order.kernels ?? int8KernelsHere();
  const graph = new GraphBuilder();
  const images = graph.input("images", "uint8", [1, image.down, image.across, 3]);
  const writer = new NetworkWriter(graph, {
    model,
    sizes,
    activations,
    narrow: saturate,
    kept: new Map(parts.classHeads.map(({ index }) => [index, rows])),
  });
  writer.begin(parts.image, graph.node("Transpose", [images], "picture", { perm: [0, 3, 1, 2] }));
  for (const operator of parts.network) writer.write(operator);
  const headOf = (name: string, heads: readonly Tensor[], width: number): Head => ({
    levels: heads.map((head) => writer.nameOf(head)),
    width,
    scale: shareScale(graph, name, heads, activations),
  });
  writeSelection(graph, {
    classes: headOf("class", parts.classHeads, outputs.length),
    boxes: headOf("box", parts.boxHeads, BOX_NUMBERS),
    anchors,
    limit: limitOf(anchors.length / 4),
  });
  return graph.finish("efficientdet");
}

const limitOf = (anchors: number): number =>
  Math.min(anchors, anchors < MANY_ANCHORS ? LIMITS.fewAnchors : LIMITS.manyAnchors);

/** How often `share` goes into the channels of every level. */
function shareOf(heads: readonly Tensor[], share: number): number {
  const channels = heads.map(({ shape }) => shape[3] ?? 0);
  const first = channels[0] ?? 0;
  if (first <= 0 || first > MOST_CHANNELS || first % share !== 0 || channels.some((count) => count !== first)) {
    throw new BadTflite(
      `every level should have the same number of channels, a multiple of ${share}; found ${channels.join(", ")}`,
    );
  }
  return first / share;
}

function gridOf(heads: readonly Tensor[], sizes: Sizes, image: Size, perCell: number): AnchorGrid {
  const levels = heads.map(({ index, name }) => {
    const size = sizes.get(index);
    if (size === undefined) throw new BadTflite(`tensor ${name} is used before it is computed`);
    return size;
  });
  return { image, levels, perCell };
}

/** Names of the scale and the zero point that all levels of a head have. */
function shareScale(
  graph: GraphBuilder,
  name: string,
  heads: readonly Tensor[],
  activations: Activations,
): [string, string] {
  const encodings = heads.map((head) => encode(head, activations));
  const [first] = encodings;
  if (first === undefined || encodings.some((encoding) => !isSame(encoding, first))) {
    throw new BadTflite(`all levels of the ${name} head should have the same scale and zero point`);
  }
  return [graph.scalar(`${name}_scale`, Float32Array.of(first.scale)), graph.scalar(`${name}_zero`, first.zeroPoint)];
}
