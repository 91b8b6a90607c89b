/** Conversions that are kept: made once for each card, each kind of CPU and each state of the converter. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Conversion, ModelCard } from "./card.ts";
import { digestBytes, digestFile } from "./digest.ts";
import { ModelFault } from "./fault.ts";
import { type Int8Kernels, int8KernelsHere } from "./int8-kernels.ts";
import { storing, writeWhole } from "./write-file.ts";

/** Of one model: a few states of the converter, for checkouts that share a cache, on three kinds of CPU. */
const MOST_KEPT = 6;

const HERE = fileURLToPath(new URL(".", import.meta.url));
/** Whose text decides what a conversion gives. */
const CONVERTER = ["convert", "onnx", "tflite"];

/** Changes with any change of the converter: nobody has to remember to count up a version. */
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
 * The name begins with what it was made from and ends with its own digest, so that one rename states both. The kernels are
 * part of it: a cache folder may be shared between machines, or moved with a disk.
 */
function keyOf(
  { model, sha256, labels, input: { width, height } }: ModelCard,
  convert: Conversion,
  { activations, saturate }: Int8Kernels,
): string {
  const order = JSON.stringify([sha256, convert, labels, width, height, activations, saturate, digestConverter()]);
  return `${model}-${width}x${height}-${digestBytes(order).slice(0, 16)}-`;
}

/** Whole and unharmed, or null. Changes nothing: a harmed one is replaced when the conversion is made again. */
export async function findConverted(
  card: ModelCard,
  convert: Conversion,
  folder: string,
  kernels: Int8Kernels = int8KernelsHere(),
): Promise<string | null> {
  const key = keyOf(card, convert, kernels);
  for (const name of await readdir(folder).catch(() => [])) {
    if (!name.startsWith(key) || !name.endsWith(".onnx")) continue;
    const file = join(folder, name);
    // Another process may tidy up at the same time.
    const sha256 = await digestFile(file).catch(() => null);
    if (sha256 === name.slice(key.length, -".onnx".length)) return file;
  }
  return null;
}

/** Whether there is one, without reading it. */
export async function isConverted(card: ModelCard, convert: Conversion, folder: string): Promise<boolean> {
  return (await listConverted(card, convert, folder)).length > 0;
}

/** What was made of this card by this converter for this machine, unread. */
export async function listConverted(card: ModelCard, convert: Conversion, folder: string): Promise<readonly string[]> {
  const key = keyOf(card, convert, int8KernelsHere());
  const names = await readdir(folder).catch(() => []);
  return names.filter((name) => name.startsWith(key)).map((name) => join(folder, name));
}

/** What was made under this name, in every size and by every state of the converter. */
export async function listAllConverted(model: string, folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch(() => []);
  return names
    .filter((name) => name.startsWith(`${model}-`) && MADE.test(name.slice(model.length)))
    .map((name) => join(folder, name));
}

/** What follows the name of the model; one name may be the beginning of another. */
const MADE = /^-\d+x\d+-[0-9a-f]{16}-[0-9a-f]{64}\.onnx$/;

/** `weights` have the digest of the card already. Takes seconds, on this thread. */
export async function convertWeights(
  card: ModelCard,
  convert: Conversion,
  weights: string,
  folder: string,
  kernels: Int8Kernels = int8KernelsHere(),
): Promise<string> {
  const { convertEfficientDet } = await import("./convert/efficientdet.ts");
  const { width, height } = card.input;
  const tflite = await readFile(weights);
  let onnx: Uint8Array;
  try {
    const { labels } = card;
    const { classes } = convert;
    onnx = convertEfficientDet(tflite, { width, height, labels, kernels, ...(classes && { classes }) });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ModelFault(`the weights of ${card.model} cannot be converted to ${width}×${height}: ${reason}`, {
      cause: error,
    });
  }
  const file = join(folder, `${keyOf(card, convert, kernels)}${digestBytes(onnx)}.onnx`);
  await storing(folder, () => mkdir(folder, { recursive: true }));
  await writeWhole(file, [onnx]);
  await forget(card, folder);
  return file;
}

/** Keeps the conversions of a model that were made last. */
async function forget({ model, input: { width, height } }: ModelCard, folder: string): Promise<void> {
  const files = (await readdir(folder))
    .filter((name) => name.startsWith(`${model}-${width}x${height}-`))
    .map((name) => join(folder, name))
    .map((file) => ({ file, mtimeMs: statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0 }))
    .sort((a, b) => b.mtimeMs - a.mtimeMs);
  for (const { file } of files.slice(MOST_KEPT)) await rm(file, { force: true });
}
