/**
 * Google's EfficientDet-Lite (int8 TFLite) → ONNX.
 *
 * Input `images`: uint8 [1, height, width, 3], RGB, letterboxed to the top left on 127. Outputs, best first: `boxes`
 * float32 [1, K, 4] (left, top, right, bottom in pixels of the input, not clipped), `scores` float32 [1, K] and
 * `classes` int64 [1, K] (index in the kept labels, from 0). The same file and options give the same bytes.
 */
import { type Int8Kernels, int8KernelsHere } from "../int8-kernels.ts";
import { COCO, COCO_GAPS, COCO_LAST_ID } from "../labels.ts";
import { GraphBuilder } from "../onnx/graph.ts";
import { BadTflite } from "../tflite/flatbuffer.ts";
import { readModel, type Tensor } from "../tflite/read-model.ts";
import { type Activations, encode, isSame, NetworkWriter, type Precision } from "./network.ts";
import { type AnchorGrid, type Head, layAnchors, writeSelection } from "./selection.ts";
import { findParts, planSizes, type Size, type Sizes, sizeOf } from "./structure.ts";

interface EfficientDetOptions extends KeptClasses {
  /** The size the model was trained for, or multiples of 128. */
  readonly width: number;
  readonly height: number;
  /** The kernels that will run it; by default those of this machine. */
  readonly kernels?: Int8Kernels;
  /** Of the computation; by default that of the file. */
  readonly precision?: Precision;
}

const BOX_NUMBERS = 4;
/** Nine anchors with a few hundred classes need a few thousand. More indicate a damaged file, and would need much memory. */
const MOST_CHANNELS = 65_536;
/** A crowd has up to fifteen relevant pairs per object; a large image may show several crowds. */
const LIMITS = { fewAnchors: 1000, manyAnchors: 2000 };
const MANY_ANCHORS = 100_000;

export function convertEfficientDet(tflite: Uint8Array, options: EfficientDetOptions): Uint8Array {
  const model = readModel(tflite);
  const parts = findParts(model);
  const image: Size = { down: options.height, across: options.width };
  const sizes = planSizes(model, parts.image, parts.network, image);
  const perCell = shareOf(parts.boxHeads, BOX_NUMBERS);
  const headClasses = shareOf(parts.classHeads, perCell);
  const anchors = layAnchors(
    parts.anchors,
    { image: sizeOf(parts.image), levels: parts.boxHeads.map(sizeOf), perCell },
    gridOf(parts.boxHeads, sizes, image, perCell),
  );
  const outputs = chooseOutputs(headClasses, options);
  const rows = Array.from({ length: perCell }, (_, i) => outputs.map((output) => i * headClasses + output)).flat();

  const { activations, saturate } = options.kernels ?? int8KernelsHere();
  const { precision = "int8" } = options;
  const graph = new GraphBuilder();
  const images = graph.input("images", "uint8", [1, image.down, image.across, 3]);
  const writer = new NetworkWriter(graph, {
    model,
    sizes,
    activations,
    precision,
    narrow: saturate && precision === "int8",
    kept: new Map(parts.classHeads.map(({ index }) => [index, rows])),
  });
  writer.begin(parts.image, graph.node("Transpose", [images], "picture", { perm: [0, 3, 1, 2] }));
  for (const operator of parts.network) writer.write(operator);
  const headOf = (name: string, heads: readonly Tensor[], width: number): Head => ({
    levels: heads.map((head) => writer.nameOf(head)),
    width,
    scale: precision === "float32" ? null : shareScale(graph, name, heads, activations),
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

/** The channels of every level divided by `share`. */
function shareOf(heads: readonly Tensor[], share: number): number {
  const channels = heads.map(({ shape }) => shape[3] ?? 0);
  const first = channels[0] ?? 0;
  if (first <= 0 || first > MOST_CHANNELS || first % share !== 0 || channels.some((count) => count !== first)) {
    throw new BadTflite(
      `expected the same number of channels in every level, a multiple of ${share}; found ${channels.join(", ")}`,
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

/** Names of the scale and the zero point that all levels of a head share. */
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

interface KeptClasses {
  /** The labels of the class head: the 80 of COCO, or its own in the order of its outputs. */
  readonly labels: "coco" | readonly string[];
  /** Labels to keep, in this order. Default: all. */
  readonly classes?: readonly string[];
}

/** Indices in the class head, in the order of the labels of the converted model. */
function chooseOutputs(headClasses: number, { labels, classes }: KeptClasses): number[] {
  const places = placeLabels(headClasses, labels);
  if (classes === undefined) return places;
  const twice = classes.find((name, i) => classes.indexOf(name) !== i);
  if (classes.length === 0 || twice !== undefined) {
    throw new Error(classes.length === 0 ? "at least one class must be kept" : `class "${twice}" is listed twice`);
  }
  const known = labels === "coco" ? COCO : labels;
  return classes.map((name) => {
    const place = places[known.indexOf(name)];
    if (place !== undefined) return place;
    throw new Error(`"${name}" is not one of the model's classes, which are: ${known.join(", ")}`);
  });
}

/** The index of each label in the head. Throws if the head has another number of classes. */
function placeLabels(headClasses: number, labels: KeptClasses["labels"]): number[] {
  const all = Array.from({ length: headClasses }, (_, i) => i);
  if (labels !== "coco") {
    if (headClasses === labels.length) return all;
    throw new Error(
      `the model has ${headClasses} classes, but the card has ${labels.length} labels: list ${headClasses}, in the order the model was trained with`,
    );
  }
  if (headClasses === COCO_LAST_ID) return all.filter((i) => !COCO_GAPS.has(i + 1));
  if (headClasses === COCO.length) return all;
  throw new Error(
    `the model has ${headClasses} classes, which are not those of COCO (${COCO_LAST_ID} ids or ${COCO.length} classes): list its own ${headClasses} labels, in the order it was trained with`,
  );
}
