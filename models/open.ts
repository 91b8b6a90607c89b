/** From a name to an ONNX file on this machine. Never fetches anything. */
import { statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { modelPlaces } from "./cache.ts";
import type { ModelCard } from "./card.ts";
import { convertWeights, findConverted, isConverted } from "./converted.ts";
import { digestFile } from "./digest.ts";
import { ModelFault } from "./fault.ts";
import { type FoundCard, findCard } from "./find-card.ts";
import { getCommand } from "./get-command.ts";
import { COCO } from "./labels.ts";

export interface Model {
  readonly card: ModelCard;
  /** By class number of the network. */
  readonly labels: readonly string[];
  /** ONNX. */
  readonly file: string;
}

/** Throws `ModelFault`: unknown, not installed, damaged; `CardFault` when the card is wrong. */
export const openModel = async (nameOrCardPath: string): Promise<Model> => openCard(findCard(nameOrCardPath));

export async function openCard(found: FoundCard): Promise<Model> {
  const { card } = found;
  const labels = labelsOf(card);
  const { onnx, weights } = await locateCard(found);
  if (card.convert === undefined || onnx !== null) return { card, labels, file: onnx ?? weights };
  return { card, labels, file: await convertWeights(card, card.convert, weights, modelPlaces().converted) };
}

/** Nothing is wrong, it has only not been fetched. */
export class NotInstalled extends ModelFault {
  override readonly name = "NotInstalled";
}

export type Location =
  | { readonly onnx: string; readonly weights: null }
  /** Still to be converted, which `openCard` does. */
  | { readonly onnx: null; readonly weights: string };

/** Where its files are, whole and unharmed. Writes nothing. Throws `NotInstalled`, or a `ModelFault` that says what is wrong. */
export async function locateCard(found: FoundCard): Promise<Location> {
  const { card } = found;
  if (card.convert !== undefined) {
    const onnx = await findConverted(card, card.convert, modelPlaces().converted);
    if (onnx !== null) return { onnx, weights: null };
  }
  const weights = await findWeights(found);
  return card.convert === undefined ? { onnx: weights, weights: null } : { onnx: null, weights };
}

/** Converted networks know only the classes that were kept. */
export const labelsOf = ({ labels, convert }: ModelCard): readonly string[] =>
  convert?.classes ?? (labels === "coco" ? COCO : labels);

export const weightsFile = ({ sha256, convert }: ModelCard): string =>
  join(modelPlaces().weights, `${sha256}${convert === undefined ? ".onnx" : ".tflite"}`);

/** Whether `openModel` would find it; nothing is read, so that damage that keeps the size is not noticed. */
export async function isInstalled({ card, file }: FoundCard): Promise<boolean> {
  if (card.convert !== undefined && (await isConverted(card, card.convert, modelPlaces().converted))) return true;
  const fits = (path: string): boolean => {
    const size = sizeOf(path);
    return size !== null && size === (card.bytes ?? size);
  };
  return [weightsFile(card), ...localSources(card, file)].some(fits);
}

const localSources = ({ sources }: ModelCard, cardFile: string): readonly string[] =>
  sources.flatMap((source) => ("path" in source ? [resolve(dirname(cardFile), source.path)] : []));

/** Null for what is not there, and for what has no end: pipes, devices. */
function sizeOf(path: string): number | null {
  try {
    const stat = statSync(path, { throwIfNoEntry: false });
    return stat?.isFile() ? stat.size : null;
  } catch {
    return null;
  }
}

/** A file with the card's digest: from the cache, or one of the card's sources that lies here. */
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
    others.push(`${path} is not the file that the card of "${card.model}" means:\n${compare(card.sha256, sha256)}`);
  }
  if (others.length === 0)
    throw new NotInstalled(`the model "${card.model}" is not installed; run: ${getCommand(found)}`);
  const isElsewhere = card.sources.some((source) => !("path" in source));
  const help = isElsewhere ? getCommand(found) : `${getCommand(found)} --weights FILE`;
  throw new ModelFault(`${others.join("\n")}\nput the right file there, correct the card, or run: ${help}`);
}

const compare = (expected: string, met: string): string => `  expected sha256 ${expected}\n  found    sha256 ${met}`;

async function digest(path: string, found: FoundCard): Promise<string> {
  try {
    return await digestFile(path);
  } catch (error) {
    const { message } = error as Error;
    throw new ModelFault(`${path}, the weights of "${found.card.model}", cannot be read: ${message}`, { cause: error });
  }
}
