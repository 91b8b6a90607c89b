/** Installs a model: fetches, verifies and converts it. Skips the steps that are already done. */
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { modelFolders } from "./cache.ts";
import { convertWeights, findConverted } from "./converted.ts";
import { type Fetching, WeightsFetcher } from "./fetch/weights.ts";
import { hasDigest, removeStaleParts } from "./files.ts";
import type { FoundCard } from "./find-card.ts";
import { int8KernelsHere, listInt8Kernels } from "./int8-kernels.ts";
import { optimise } from "./onnxruntime.ts";
import { type Model, openCard, openFloat, openTunedCard, weightsFile } from "./open.ts";
import { measureTuning, readTuning, writeTuning } from "./tuning.ts";

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
  const model = await openCard(found);
  await tune(found, model.file, installing);
  await optimiseAll(found, model.file, installing);
  return { ...model, fetched: !isWhole };
}

/** The networks that are used on this machine: by default, and by `providers: [auto]`. */
async function optimiseAll(found: FoundCard, file: string, installing: Installing): Promise<void> {
  if (found.card.convert === undefined) return;
  const { file: tuned } = await openTunedCard(found);
  for (const network of new Set([file, tuned])) {
    const made = await optimise(network);
    if (made !== null) installing.onAdded?.(made);
  }
}

/** Once for each machine. Keeps only the network that is used. */
async function tune(found: FoundCard, file: string, installing: Installing): Promise<void> {
  const { card } = found;
  if (card.convert === undefined || (await readTuning(card, file)) !== null) return;
  installing.report("measuring the precision and the threads for this CPU");
  const float32 = await openFloat(found, card.convert);
  const tuning = await measureTuning(card, { int8: file, float32 });
  if (tuning.precision === "int8") await rm(float32, { force: true });
  const kept = await writeTuning(card, file, tuning);
  installing.onAdded?.(kept);
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
