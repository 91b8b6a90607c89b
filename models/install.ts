/** Installs a model: fetches, verifies and converts it. Skips the steps that are already done. */
import { existsSync } from "node:fs";
import { mkdtemp, rename, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { modelFolders } from "./cache.ts";
import type { Conversion } from "./card.ts";
import { convertWeights, findConverted } from "./converted.ts";
import { type Fetching, WeightsFetcher } from "./fetch/weights.ts";
import { hasDigest, removeStaleParts, withStorageFaults } from "./files.ts";
import type { FoundCard } from "./find-card.ts";
import { int8KernelsHere, listInt8Kernels } from "./int8-kernels.ts";
import { optimise } from "./onnxruntime.ts";
import { convertFloat, findFloat, type Model, openCard, openFloat, weightsFile } from "./open.ts";
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
  if (card.convert !== undefined) {
    const tuned = await tune(found, card.convert, model.file, installing);
    // Both are used on this machine: by default, and by `providers: [auto]`.
    for (const network of new Set([model.file, tuned])) {
      const made = await optimise(network);
      if (made !== null) installing.onAdded?.(made);
    }
  }
  return { ...model, fetched: !isWhole };
}

/** Measures once for each machine. Keeps and returns only the network that is used. */
async function tune(found: FoundCard, convert: Conversion, int8: string, installing: Installing): Promise<string> {
  const { card } = found;
  const known = await readTuning(card, int8);
  if (known?.precision === "int8") return int8;
  const wasThere = await findFloat(found, convert);
  if (known !== null) {
    const float32 = wasThere ?? (await openFloat(found, convert));
    if (wasThere === null) installing.onAdded?.(float32);
    return float32;
  }
  installing.report("measuring the precision and the threads for this CPU");
  const { converted } = modelFolders();
  // A folder of its own: another process may measure the same model, and removes what it does not use.
  const folder = await withStorageFaults(converted, () => mkdtemp(join(converted, ".part-")));
  try {
    const float32 = wasThere ?? (await convertFloat(found, convert, folder));
    const tuning = await measureTuning(card, { int8, float32 });
    const isUsed = tuning.precision === "float32";
    const kept = wasThere ?? join(converted, basename(float32));
    if (isUsed && wasThere === null) {
      await withStorageFaults(converted, () => rename(float32, kept));
      installing.onAdded?.(kept);
    }
    installing.onAdded?.(await writeTuning(card, int8, tuning));
    return isUsed ? kept : int8;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
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
