/** Brings a model onto this machine: fetched, checked, converted. Does only what is missing. */
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { modelPlaces } from "./cache.ts";
import { isConverted } from "./converted.ts";
import { digestFile } from "./digest.ts";
import { type Fetching, WeightsFetcher } from "./fetch/weights.ts";
import type { FoundCard } from "./find-card.ts";
import { type Model, openCard, weightsFile } from "./open.ts";
import { sweepParts } from "./write-file.ts";

export interface Installed extends Model {
  /** Whether anything had to be fetched. */
  readonly fetched: boolean;
}

/** One after another; throws `ModelFault` at the first that cannot be had. `onDone` hears of each. */
export async function installModels(
  found: readonly FoundCard[],
  fetching: Fetching,
  onDone: (installed: Installed) => Promise<void> | void = () => {},
): Promise<void> {
  const { weights, converted } = modelPlaces();
  await sweepParts(weights);
  await sweepParts(converted);
  await using fetcher = new WeightsFetcher(weights, fetching);
  for (const one of found) await onDone(await install(one, fetcher, fetching));
}

async function install(found: FoundCard, fetcher: WeightsFetcher, { report }: Fetching): Promise<Installed> {
  const { card, file: cardFile } = found;
  const file = weightsFile(card);
  const isThere = existsSync(file) && (await digestFile(file)) === card.sha256;
  if (!isThere) {
    await rm(file, { force: true });
    await fetcher.fetch(card, cardFile, file);
  }
  if (card.convert !== undefined && !(await isConverted(card, card.convert, modelPlaces().converted)))
    report(`converting to ONNX, ${card.input.width}×${card.input.height}`);
  return { ...(await openCard(found)), fetched: !isThere };
}
