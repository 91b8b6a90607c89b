/** Cached conversions: one per card, kind of CPU and version of the converter. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Conversion, ModelCard } from "./card.ts";
import type { Precision } from "./convert/network.ts";
import { ModelFault } from "./fault.ts";
import { digestBytes, hasDigest, writeAtomically } from "./files.ts";
import { type Int8Kernels, int8KernelsHere } from "./int8-kernels.ts";

/** Per model: a few versions of the converter, for checkouts that share a cache, on three kinds of CPU. */
const MOST_KEPT = 6;

const HERE = fileURLToPath(new URL(".", import.meta.url));
/** The source files that determine the result of a conversion. */
const CONVERTER = ["convert", "onnx", "tflite"];

/** What a conversion is made for. */
export interface Target extends Int8Kernels {
  readonly precision?: Precision;
}

/** Replaces a version number: changes with any change of the converter's source. */
function digestConverter(): string {
  const files = CONVERTER.flatMap((folder) =>
    readdirSync(join(HERE, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts") && !/\.(test|fixture)\.ts$/.test(name))
      .sort()
      .map((name) => join(folder, name)),
  );
  const texts = [...files, "labels.ts"].map((file) => `${file}\n${readFileSync(join(HERE, file), "utf8")}`);
  return digestBytes(texts.join("\n"));
}

/**
 * A file name consists of this key and the file's own digest, so that one rename sets both. The kernels are part of the
 * key: machines may share a cache folder, or a disk may be moved.
 */
function keyOf(
  { model, sha256, labels, input: { width, height } }: ModelCard,
  convert: Conversion,
  { activations, saturate, precision }: Target,
): string {
  const kernels = precision === "float32" ? [precision] : [activations, saturate];
  const inputs = JSON.stringify([sha256, convert, labels, width, height, ...kernels, digestConverter()]);
  return `${model}-${width}x${height}-${digestBytes(inputs).slice(0, 16)}-`;
}

/** A conversion with a correct checksum, or null. A damaged file stays until the conversion is repeated. */
export async function findConverted(
  card: ModelCard,
  convert: Conversion,
  folder: string,
  target: Target = int8KernelsHere(),
): Promise<string | null> {
  const key = keyOf(card, convert, target);
  for (const name of await readdir(folder).catch(() => [])) {
    if (!name.startsWith(key) || !name.endsWith(".onnx")) continue;
    const file = join(folder, name);
    if (await hasDigest(file, name.slice(key.length, -".onnx".length))) return file;
  }
  return null;
}

/** Conversions of this card by this converter for this machine. Does not verify their checksums. */
export async function listConverted(card: ModelCard, convert: Conversion, folder: string): Promise<readonly string[]> {
  const key = keyOf(card, convert, int8KernelsHere());
  const names = await readdir(folder).catch(() => []);
  return names.filter((name) => name.startsWith(key)).map((name) => join(folder, name));
}

/** All conversions under this name, in every size and by every version of the converter, and what was measured with them. */
export async function listAllConverted(model: string, folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch(() => []);
  return names
    .filter((name) => name.startsWith(`${model}-`) && MADE.test(name.slice(model.length)))
    .map((name) => join(folder, name));
}

/** The rest of the file name. Needed because one model name may be a prefix of another. */
const MADE = /^-\d+x\d+-[0-9a-f]{16}-([0-9a-f]{64}\.(onnx|optimised)|tuning\.json)$/;

/** `weights` must have the checksum of the card. Blocks this thread for seconds. */
export async function convertWeights(
  card: ModelCard,
  convert: Conversion,
  weights: string,
  folder: string,
  target: Target = int8KernelsHere(),
): Promise<string> {
  const { convertEfficientDet } = await import("./convert/efficientdet.ts");
  const { width, height } = card.input;
  const tflite = await readFile(weights);
  let onnx: Uint8Array;
  try {
    const { labels } = card;
    const { classes } = convert;
    const { precision = "int8", ...kernels } = target;
    onnx = convertEfficientDet(tflite, { width, height, labels, kernels, precision, ...(classes && { classes }) });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ModelFault(`the weights of ${card.model} cannot be converted to ${width}×${height}: ${reason}`, {
      cause: error,
    });
  }
  const file = join(folder, `${keyOf(card, convert, target)}${digestBytes(onnx)}.onnx`);
  await writeAtomically(file, [onnx]);
  await removeOldest(card, folder);
  return file;
}

async function removeOldest({ model, input: { width, height } }: ModelCard, folder: string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => name.startsWith(`${model}-${width}x${height}-`));
  for (const extension of [".onnx", ".optimised"]) {
    const files = names
      .filter((name) => name.endsWith(extension))
      .map((name) => join(folder, name))
      .map((file) => ({ file, mtimeMs: statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0 }))
      .sort((a, b) => b.mtimeMs - a.mtimeMs);
    for (const { file } of files.slice(MOST_KEPT)) await rm(file, { force: true });
  }
}
