/** Installs a model: fetches, verifies and converts it. Skips the steps that are already done. */
import { existsSync } from "node:fs";
import { modelFolders } from "./cache.ts";
import { convertWeights, findConverted } from "./converted.ts";
import { type Fetching, WeightsFetcher } from "./fetch/weights.ts";
import { hasDigest, removeStaleParts } from "./files.ts";
import type { FoundCard } from "./find-card.ts";
import { int8KernelsHere, listInt8Kernels } from "./int8-kernels.ts";
import { type Model, openCard, weightsFile } from "./open.ts";

export interface Installed extends Model {
  /** Whether the weights were fetched. */
  readonly fetched: boolean;
}

export interface Installing extends Fetching {
  /** Convert for every CPU of this architecture: for container images, and for cache folders shared by machines. */
  readonly everyCpu?: boolean;
  /** Called for every file that is new in the cache, also if a later step fails. */
  onAdded?(file: string): void;
}

/** Installs one after another; throws `ModelFault` at the first that fails. */
export async function installModels(
  found: readonly FoundCard[],
  installing: Installing,
  onDone: (installed: Installed) => Promise<void> | void = () => {},
): Promise<void> {
  const { weights, converted } = modelFolders();
  await removeStaleParts(weights);
  await removeStaleParts(converted);
  await using fetcher = new WeightsFetcher(weights, installing);
  for (const one of found) await onDone(await install(one, fetcher, installing));
}

async function install(found: FoundCard, fetcher: WeightsFetcher, installing: Installing): Promise<Installed> {
  const { card } = found;
  const file = weightsFile(card);
  const wasThere = existsSync(file);
  const isWhole = await hasDigest(file, card.sha256);
  if (!isWhole) await fetcher.fetch(found, file);
  if (!wasThere) installing.onAdded?.(file);
  await convert(found, installing);
  return { ...(await openCard(found)), fetched: !isWhole };
}

async function convert({ card }: FoundCard, installing: Installing): Promise<void> {
  if (card.convert === undefined) return;
  const { converted } = modelFolders();
  for (const kernels of installing.everyCpu ? listInt8Kernels(process.arch) : [int8KernelsHere()]) {
    if ((await findConverted(card, card.convert, converted, kernels)) !== null) continue;
    installing.report(`converting to ONNX, ${card.input.width}×${card.input.height}`);
    installing.onAdded?.(await convertWeights(card, card.convert, weightsFile(card), converted, kernels));
  }
}
