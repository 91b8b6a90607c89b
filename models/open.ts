/** Finds the ONNX file of an installed model, and converts its weights if needed. Never fetches anything. */
import { statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { modelFolders } from "./cache.ts";
import type { Conversion, ModelCard } from "./card.ts";
import { convertWeights, findConverted, listConverted } from "./converted.ts";
import { ModelFault, NotInstalled } from "./fault.ts";
import { digestFile } from "./files.ts";
import { type FoundCard, findCard, getCommand } from "./find-card.ts";
import { int8KernelsHere } from "./int8-kernels.ts";
import { COCO } from "./labels.ts";
import { readTuning } from "./tuning.ts";

export interface Model {
  readonly card: ModelCard;
  /** By class index of the network. */
  readonly labels: readonly string[];
  /** ONNX. */
  readonly file: string;
  /** Threads per inference that suit this machine, if measured. */
  readonly threads?: number;
}

/** Throws `ModelFault`: unknown, not installed, damaged; `CardFault` if the card is invalid. */
export const openModel = async (nameOrCardPath: string): Promise<Model> => openCard(findCard(nameOrCardPath));

export async function openCard(found: FoundCard): Promise<Model> {
  const { card } = found;
  const labels = labelsOf(card);
  const { onnx, weights } = await locateCard(found);
  if (card.convert === undefined || onnx !== null) return { card, labels, file: onnx ?? weights };
  return { card, labels, file: await convertWeights(card, card.convert, weights, modelFolders().converted) };
}

/** As it takes the least processor time on this machine; without a measurement as `openModel` does. */
export async function openTuned(nameOrCardPath: string): Promise<Model> {
  const found = findCard(nameOrCardPath);
  const model = await openCard(found);
  const { card } = found;
  const tuning = await readTuning(card, model.file);
  if (tuning === null) return model;
  const { precision, threads } = tuning;
  if (precision === "int8" || card.convert === undefined) return { ...model, threads };
  return { ...model, threads, file: await openFloat(found, card.convert) };
}

const floatHere = () => ({ ...int8KernelsHere(), precision: "float32" }) as const;

/** The network of a converted model in float32, or null. */
export const findFloat = ({ card }: FoundCard, convert: Conversion): Promise<string | null> =>
  findConverted(card, convert, modelFolders().converted, floatHere());

/** The same, converted if needed. */
export async function openFloat(found: FoundCard, convert: Conversion): Promise<string> {
  return (await findFloat(found, convert)) ?? convertFloat(found, convert, modelFolders().converted);
}

export const convertFloat = async (found: FoundCard, convert: Conversion, folder: string): Promise<string> =>
  convertWeights(found.card, convert, await findWeights(found), folder, floatHere());

export type Location =
  | { readonly onnx: string; readonly weights: null }
  /** To be converted by `openCard`. */
  | { readonly onnx: null; readonly weights: string };

/** Finds its files and verifies their checksums. Writes nothing. Throws `NotInstalled`, or a `ModelFault` with the reason. */
export async function locateCard(found: FoundCard): Promise<Location> {
  const { card } = found;
  if (card.convert !== undefined) {
    const onnx = await findConverted(card, card.convert, modelFolders().converted);
    if (onnx !== null) return { onnx, weights: null };
  }
  const weights = await findWeights(found);
  return card.convert === undefined ? { onnx: weights, weights: null } : { onnx: null, weights };
}

/** A converted network has only the classes that were kept. */
export const labelsOf = ({ labels, convert }: ModelCard): readonly string[] =>
  convert?.classes ?? (labels === "coco" ? COCO : labels);

export const weightsFile = ({ sha256, convert }: ModelCard): string =>
  join(modelFolders().weights, `${sha256}${convert === undefined ? ".onnx" : ".tflite"}`);

/** Whether `openModel` would find it. Compares sizes only: damage that keeps the size is not detected. */
export async function isInstalled({ card, file }: FoundCard): Promise<boolean> {
  if (card.convert !== undefined && (await listConverted(card, card.convert, modelFolders().converted)).length > 0)
    return true;
  const fits = (path: string): boolean => {
    const size = sizeOf(path);
    return size !== null && size === (card.bytes ?? size);
  };
  return [weightsFile(card), ...localSources(card, file)].some(fits);
}

const localSources = ({ sources }: ModelCard, cardFile: string): readonly string[] =>
  sources.flatMap((source) => ("path" in source ? [resolve(dirname(cardFile), source.path)] : []));

/** Null for missing files, pipes and devices. */
function sizeOf(path: string): number | null {
  try {
    const stat = statSync(path, { throwIfNoEntry: false });
    return stat?.isFile() ? stat.size : null;
  } catch {
    return null;
  }
}

/** A file with the card's checksum: from the cache, or one of the card's local sources. */
async function findWeights(found: FoundCard): Promise<string> {
  const { card, file } = found;
  const kept = weightsFile(card);
  if (sizeOf(kept) !== null) {
    const sha256 = await digest(kept, found);
    if (sha256 === card.sha256) return kept;
    throw new ModelFault(`${kept} is damaged:\n${compare(card.sha256, sha256)}\nrun: ${getCommand(found)}`);
  }
  const others: string[] = [];
  for (const path of localSources(card, file).filter((path) => sizeOf(path) !== null)) {
    const sha256 = await digest(path, found);
    if (sha256 === card.sha256) return path;
    others.push(`${path} has another checksum than the card of "${card.model}":\n${compare(card.sha256, sha256)}`);
  }
  if (others.length === 0)
    throw new NotInstalled(`the model "${card.model}" is not installed; run: ${getCommand(found)}`);
  const isElsewhere = card.sources.some((source) => !("path" in source));
  const help = isElsewhere ? getCommand(found) : `${getCommand(found)} --weights FILE`;
  throw new ModelFault(`${others.join("\n")}\nreplace the file, correct the card, or run: ${help}`);
}

const compare = (expected: string, found: string): string =>
  `  expected sha256 ${expected}\n  found    sha256 ${found}`;

async function digest(path: string, found: FoundCard): Promise<string> {
  try {
    return await digestFile(path);
  } catch (error) {
    const { message } = error as Error;
    throw new ModelFault(`${path}, the weights of "${found.card.model}", cannot be read: ${message}`, { cause: error });
  }
}
