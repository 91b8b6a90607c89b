/** From a name to an ONNX file on this machine. Never fetches anything. */
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { modelPlaces } from "./cache.ts";
import type { ModelCard } from "./card.ts";
import { convertWeights, findConverted, isConverted } from "./converted.ts";
import { digestFile } from "./digest.ts";
import { ModelFault } from "./fault.ts";
import { type FoundCard, findCard } from "./find-card.ts";
import { COCO } from "./labels.ts";

export interface Model {
  readonly card: ModelCard;
  /** By class number of the network. */
  readonly labels: readonly string[];
  /** ONNX. */
  readonly file: string;
}

/** Throws `ModelFault`: unknown, not installed, damaged; `CardFault` when the card is wrong. */
export async function openModel(nameOrCardPath: string): Promise<Model> {
  const found = findCard(nameOrCardPath);
  return openCard(found, nameOrCardPath);
}

export async function openCard(found: FoundCard, askedFor: string = found.card.model): Promise<Model> {
  const { card } = found;
  const labels = labelsOf(card);
  const places = modelPlaces();
  if (card.convert !== undefined) {
    const file = await findConverted(card, card.convert, places.converted);
    if (file !== null) return { card, labels, file };
  }
  const weights = await findWeights(found);
  if (weights === null)
    throw new ModelFault(`the model "${card.model}" is not installed; run: npx windhover models get ${askedFor}`);
  if (card.convert === undefined) return { card, labels, file: weights };
  return { card, labels, file: await convertWeights(card, card.convert, weights, places.converted) };
}

/** Converted networks know only the classes that were kept. */
export const labelsOf = ({ labels, convert }: ModelCard): readonly string[] =>
  convert?.classes ?? (labels === "coco" ? COCO : labels);

export const weightsFile = ({ sha256, convert }: ModelCard): string =>
  join(modelPlaces().weights, `${sha256}${convert === undefined ? ".onnx" : ".tflite"}`);

/** Whether `openModel` would find it; nothing is read, so that a damaged file is not noticed. */
export async function isInstalled({ card, file }: FoundCard): Promise<boolean> {
  if (card.convert !== undefined && (await isConverted(card, card.convert, modelPlaces().converted))) return true;
  return existsSync(weightsFile(card)) || localSources(card, file).some((path) => existsSync(path));
}

const localSources = ({ sources }: ModelCard, cardFile: string): readonly string[] =>
  sources.flatMap((source) => ("path" in source ? [resolve(dirname(cardFile), source.path)] : []));

/** A file with the card's digest: from the cache, or one of the card's sources that lies here. */
export async function findWeights({ card, file }: FoundCard): Promise<string | null> {
  const kept = weightsFile(card);
  if (existsSync(kept)) {
    const found = await digestFile(kept);
    if (found === card.sha256) return kept;
    throw new ModelFault(
      `${kept} is damaged:\n  expected sha256 ${card.sha256}\n  found    sha256 ${found}\nrun: npx windhover models get ${card.model}`,
    );
  }
  for (const path of localSources(card, file))
    if (existsSync(path) && (await digestFile(path)) === card.sha256) return path;
  return null;
}
