/** A card for an ONNX file, from its tensors and the options of `models import`. */

import { readFileSync, statSync } from "node:fs";
import { basename, resolve } from "node:path";
import { type Document, parseDocument, stringify } from "yaml";
import type { Tensors } from "../../elements/detect/try-model.ts";
import { LONGEST_NAME, type ModelCard, type ModelInput } from "../../models/card.ts";
import type { TensorInfo } from "../../models/decode/decoder.ts";
import { findFamilies } from "../../models/decode/families.ts";
import { DECODERS } from "../../models/decode/options.ts";
import { COCO } from "../../models/labels.ts";
import { UsageFault } from "../command.ts";

export interface CardOptions {
  readonly name?: string | undefined;
  readonly about?: string | undefined;
  readonly licence?: string | undefined;
  readonly family?: (typeof DECODERS)[number] | undefined;
  readonly labels: ModelCard["labels"];
  readonly size?: Size | undefined;
}

/** Characters of the file's name in `about`, which has its own limit. */
const LONGEST_TITLE = 120;

/** Returns YAML. Throws `UsageFault` when an option is missing. */
export function draftCard(
  file: { readonly path: string; readonly sha256: string; readonly bytes: number },
  tensors: Tensors,
  options: CardOptions,
): string {
  const model = options.name ?? nameAfter(file.path);
  const picture = findImageInput(tensors.inputs, options.size);
  const family = options.family ?? guessFamily(picture, tensors, options.labels);
  return stringify({
    model,
    about: options.about ?? `${basename(file.path).slice(0, LONGEST_TITLE)}, imported.`,
    licence: options.licence ?? "unknown",
    sources: [{ path: resolve(file.path) }],
    sha256: file.sha256,
    bytes: file.bytes,
    input: { ...picture, ...usualInput(family, picture.type) },
    labels: options.labels,
    decoder: { family },
  });
}

/** A valid model name, derived from the file name. */
export const nameAfter = (path: string): string =>
  basename(path)
    .replace(/\.[^.]*$/, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-/, "")
    .slice(0, LONGEST_NAME)
    .replace(/-$/, "") || "model";

/** The only family that can read the outputs. */
function guessFamily(
  picture: ReturnType<typeof findImageInput>,
  { outputs }: Tensors,
  labels: ModelCard["labels"],
): (typeof DECODERS)[number] {
  const classCount = labels === "coco" ? COCO.length : labels.length;
  const fitting = findFamilies({ input: picture, labels }, classCount, outputs);
  const [only] = fitting;
  if (only !== undefined && fitting.length === 1) return only;
  const which =
    fitting.length === 0
      ? `none fits ${classCount} labels; the decoders are ${DECODERS.join(", ")}`
      : `${fitting.join(" and ")} fit`;
  throw new UsageFault(
    `the decoder cannot be inferred from the outputs: give it with --decoder (${which})\n` +
      outputs.map((tensor) => `  ${describeTensor(tensor)}`).join("\n"),
  );
}

/** Sets `key.key=value` in a card, with values in YAML; keeps comments. */
export function editCard(yaml: string, edits: readonly string[]): string {
  if (edits.length === 0) return yaml;
  const document = parseDocument(yaml);
  // Reported when the card is parsed.
  if (document.errors.length > 0) return yaml;
  for (const edit of edits) applyEdit(document, edit);
  return document.toString({ lineWidth: 120 });
}

function applyEdit(document: Document, edit: string): void {
  const at = edit.indexOf("=");
  if (at < 1) throw new UsageFault(`--set is "${edit}"; expected KEY=VALUE, such as input.colours=bgr`);
  const value = parseDocument(edit.slice(at + 1));
  const [error] = value.errors;
  if (error !== undefined) throw new UsageFault(`--set ${edit}: the value is not valid YAML: ${error.message}`);
  try {
    document.setIn(edit.slice(0, at).split("."), value.toJS());
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new UsageFault(`--set ${edit}: the card has no such field: ${reason}`, { cause });
  }
}

type InputFormat = Partial<Pick<ModelInput, "colours" | "fit" | "anchor" | "padding">> & {
  /** For float32 only. */
  readonly numbers?: Pick<ModelInput, "mean" | "std">;
};

/** From 0 to 1. */
const FRACTIONS = { mean: [0, 0, 0], std: [255, 255, 255] } satisfies InputFormat["numbers"];
const SYMMETRIC = { mean: [127.5, 127.5, 127.5], std: [127.5, 127.5, 127.5] } satisfies InputFormat["numbers"];
const IMAGENET = { mean: [123.675, 116.28, 103.53], std: [58.395, 57.12, 57.375] } satisfies InputFormat["numbers"];

/** The input format of each model family, as its authors train and export it. */
const USUAL_FORMATS: Readonly<Record<ModelCard["decoder"]["family"], InputFormat>> = {
  efficientdet: { fit: "letterbox", anchor: "top-left", padding: 127, numbers: SYMMETRIC },
  ssd: { fit: "stretch", numbers: SYMMETRIC },
  yolox: { colours: "bgr", fit: "letterbox", anchor: "top-left", padding: 114 },
  yolo: { fit: "letterbox", anchor: "centre", padding: 114, numbers: FRACTIONS },
  picodet: { fit: "stretch", numbers: IMAGENET },
  detr: { fit: "stretch", numbers: FRACTIONS },
};

export function usualInput(family: ModelCard["decoder"]["family"], type: ModelInput["type"]): Partial<ModelInput> {
  const { numbers, ...picture } = USUAL_FORMATS[family];
  return { ...picture, ...(type === "float32" && numbers) };
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

const COLOURS = 3;

/** The image input of a model. `size` is for models that accept any size. Throws `UsageFault` when none is found. */
export function findImageInput(
  inputs: readonly TensorInfo[],
  size: Size | undefined,
): Pick<ModelInput, "width" | "height" | "type" | "layout"> {
  const picture = inputs.find(({ shape }) => shape.length === 4 && (shape[1] === COLOURS || shape[3] === COLOURS));
  const has = `it has ${inputs.map(describeTensor).join(", ") || "none"}`;
  if (picture === undefined)
    throw new UsageFault(
      `none of the inputs is an image with 3 channels, [1, 3, height, width] or [1, height, width, 3]; ${has}`,
    );
  const { type, shape } = picture;
  if (type !== "float32" && type !== "uint8")
    throw new UsageFault(
      `the input type is ${type}; expected float32 or uint8: export the model with one of them. ${has}`,
    );
  const layout = shape[1] === COLOURS ? "nchw" : "nhwc";
  const [height, width] = layout === "nchw" ? shape.slice(2) : shape.slice(1);
  const fixed = isFixed(width) && isFixed(height) ? { width, height } : null;
  if (fixed === null && size === undefined)
    throw new UsageFault(`the model accepts images of any size: give one with --size WIDTHxHEIGHT; ${has}`);
  if (fixed !== null && size !== undefined && (size.width !== fixed.width || size.height !== fixed.height))
    throw new UsageFault(
      `--size is ${size.width}x${size.height}, but the model only accepts ${fixed.width}x${fixed.height}`,
    );
  return { ...(size ?? (fixed as Size)), type, layout };
}

const isFixed = (size: number | string | undefined): size is number => typeof size === "number" && size > 0;

export const describeTensor = ({ name, type, shape }: TensorInfo): string => `${name}: ${type} [${shape.join(", ")}]`;

export function readSize(text: string | undefined): Size | undefined {
  if (text === undefined) return undefined;
  const [, width, height] = /^(\d+)[x×](\d+)$/.exec(text) ?? [];
  if (width === undefined || height === undefined)
    throw new UsageFault(`--size is "${text}"; expected WIDTHxHEIGHT, such as 640x384`);
  return { width: Number(width), height: Number(height) };
}

const EXPECTED = "expected coco, a name, names separated by commas, or a file with one name per line";

/** `coco`, names separated by commas, a file with one name per line, or a single name. */
export function readLabels(text: string | undefined): "coco" | string[] {
  if (text === undefined || text === "coco") return "coco";
  const names = readNames(text)
    .map((name) => name.trim())
    .filter((name) => name !== "");
  if (names.length === 0) throw new UsageFault(`--labels is "${text}", which contains no name; ${EXPECTED}`);
  return names;
}

function readNames(text: string): readonly string[] {
  if (text.includes(",")) return text.split(",");
  const isFile = statSync(text, { throwIfNoEntry: false })?.isFile() === true;
  return isFile || looksLikePath(text) ? readLines(text) : [text];
}

/** Contains a folder or a file extension. */
const looksLikePath = (text: string): boolean => /[/\\]|\.\w+$/.test(text);

function readLines(file: string): readonly string[] {
  try {
    return readFileSync(file, "utf8").split(/\r?\n/);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageFault(`--labels is "${file}"; ${EXPECTED} (${code})`, { cause: error });
  }
}
