/** Brings a model onto this machine: fetched, checked, converted. Does only what is missing. */
import { existsSync } from "node:fs";
import { modelPlaces } from "./cache.ts";
import { convertWeights, findConverted } from "./converted.ts";
import { digestFile } from "./digest.ts";
import { type Fetching, WeightsFetcher } from "./fetch/weights.ts";
import type { FoundCard } from "./find-card.ts";
import { int8KernelsHere, listInt8Kernels } from "./int8-kernels.ts";
import { type Model, openCard, weightsFile } from "./open.ts";
import { sweepParts } from "./write-file.ts";

export interface Installed extends Model {
  /** Whether anything had to be fetched. */
  readonly fetched: boolean;
}

export interface Installing extends Fetching {
  /** Convert for every CPU of this architecture: for images, and for cache folders that machines share. */
  readonly everyCpu?: boolean;
  /** Hears of every file that is new in the cache, also when what comes after fails. */
  onAdded?(file: string): void;
}

/** One after another; throws `ModelFault` at the first that cannot be had. `onDone` hears of each. */
export async function installModels(
  found: readonly FoundCard[],
  installing: Installing,
  onDone: (installed: Installed) => Promise<void> | void = () => {},
): Promise<void> {
  const { weights, converted } = modelPlaces();
  await sweepParts(weights);
  await sweepParts(converted);
  await using fetcher = new WeightsFetcher(weights, installing);
  for (const one of found) await onDone(await install(one, fetcher, installing));
}

async function install(found: FoundCard, fetcher: WeightsFetcher, installing: Installing): Promise<Installed> {
  const { card } = found;
  const file = weightsFile(card);
  const wasThere = existsSync(file);
  // Gone again, if another process tidies up: fetched then.
  const isWhole = wasThere && (await digestFile(file).catch(() => null)) === card.sha256;
  if (!isWhole) await fetcher.fetch(found, file);
  if (!wasThere) installing.onAdded?.(file);
  await convert(found, installing);
  return { ...(await openCard(found)), fetched: !isWhole };
}

async function convert({ card }: FoundCard, installing: Installing): Promise<void> {
  if (card.convert === undefined) return;
  const { converted } = modelPlaces();
  for (const kernels of installing.everyCpu ? listInt8Kernels(process.arch) : [int8KernelsHere()]) {
    if ((await findConverted(card, card.convert, converted, kernels)) !== null) continue;
    installing.report(`converting to ONNX, ${card.input.width}×${card.input.height}`);
    installing.onAdded?.(await convertWeights(card, card.convert, weightsFile(card), converted, kernels));
  }
}
