/**
 * How inference on the CPU of this machine takes the least processor time: with which precision and how many threads. The
 * set-up measures it for each model, and keeps the result beside the conversions. `providers: auto` uses it.
 */
import { readFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { basename, join } from "node:path";
import { modelFolders } from "./cache.ts";
import type { ModelCard } from "./card.ts";
import type { Precision } from "./convert/network.ts";
import { digestBytes, writeAtomically } from "./files.ts";
import { describeCpu } from "./int8-kernels.ts";
import { loadOnnxruntime, openSession } from "./onnxruntime.ts";

/** One inference, medians of several. */
export interface Measured {
  readonly precision: Precision;
  readonly threads: number;
  readonly ms: number;
  /** Processor time. */
  readonly cpuMs: number;
}

export interface Tuning {
  readonly precision: Precision;
  readonly threads: number;
  readonly measured: readonly Measured[];
}

/** Others must take this share of the processor time of the usual choice, int8 in one thread. */
const CLEARLY_LESS = 0.9;
const MOST_THREADS = 4;
const WARM_UP = 2;
const [LEAST_RUNS, MOST_RUNS] = [3, 12];
const ENOUGH_MS = 400;
/** On slow machines, where an inference takes seconds, one has to do: a set-up of several minutes is worse than a rough figure. */
const LONG_MS = 2000;

/**
 * Processor time decides, since several streams share the cores. More threads only where they cost nothing: they shorten
 * an inference on idle cores.
 */
export function chooseTuning(measured: readonly Measured[]): Tuning {
  const alone = measured.filter(({ threads }) => threads === 1);
  const usual = alone.find(({ precision }) => precision === "int8") ?? alone[0];
  if (usual === undefined) throw new Error("nothing was measured with one thread");
  const better = alone.filter(({ cpuMs }) => cpuMs < CLEARLY_LESS * usual.cpuMs);
  const { precision, cpuMs } = better.sort((a, b) => a.cpuMs - b.cpuMs)[0] ?? usual;
  const [fastest] = measured
    .filter((one) => one.precision === precision && CLEARLY_LESS * one.cpuMs <= cpuMs)
    .sort((a, b) => a.ms - b.ms);
  return { precision, threads: fastest?.threads ?? 1, measured };
}

/** Files of a network, by precision. */
export type Variants = Readonly<Partial<Record<Precision, string>>>;

/** Measures all variants with one thread, and the best of them with more. Blocks this thread for seconds. */
export async function measureTuning(card: ModelCard, variants: Variants): Promise<Tuning> {
  const measured: Measured[] = [];
  for (const [precision, file] of Object.entries(variants) as [Precision, string][])
    measured.push({ precision, threads: 1, ...(await measure(card, file, 1)) });
  const { precision } = chooseTuning(measured);
  const most = Math.min(MOST_THREADS, availableParallelism());
  for (let threads = 2; threads <= most; threads *= 2)
    measured.push({ precision, threads, ...(await measure(card, variants[precision] ?? "", threads)) });
  return chooseTuning(measured);
}

async function measure(
  { input, convert }: ModelCard,
  onnx: string,
  threads: number,
): Promise<Pick<Measured, "ms" | "cpuMs">> {
  const { Tensor } = await loadOnnxruntime();
  const isConverted = convert !== undefined;
  const session = await openSession({ onnx, isConverted, threads, providers: ["cpu"] });
  const { width, height, type, layout } = input;
  const shape = layout === "nchw" ? [1, 3, height, width] : [1, height, width, 3];
  const values = type === "uint8" ? new Uint8Array(3 * width * height) : new Float32Array(3 * width * height);
  const feeds = { [session.inputNames[0] ?? ""]: new Tensor(type, values, shape) };
  const warmUntilMs = performance.now() + LONG_MS;
  for (let run = 0; run < WARM_UP && performance.now() < warmUntilMs; run++) await session.run(feeds);
  const runs: { readonly ms: number; readonly cpuMs: number }[] = [];
  for (const beganMs = performance.now(); runs.length < MOST_RUNS; ) {
    const [startedMs, startedCpu] = [performance.now(), process.cpuUsage()];
    await session.run(feeds);
    const { user, system } = process.cpuUsage(startedCpu);
    runs.push({ ms: performance.now() - startedMs, cpuMs: (user + system) / 1000 });
    if (performance.now() - beganMs > (runs.length < LEAST_RUNS ? LONG_MS : ENOUGH_MS)) break;
  }
  await session.release();
  const median = (list: readonly number[]): number => list.toSorted((a, b) => a - b)[list.length >> 1] ?? 0;
  return { ms: round(median(runs.map(({ ms }) => ms))), cpuMs: round(median(runs.map(({ cpuMs }) => cpuMs))) };
}

const round = (ms: number): number => Math.round(ms * 10) / 10;

/** Machines may share a cache folder. A network that is converted again is measured again. */
function fileOf({ model, input: { width, height } }: ModelCard, onnx: string, folder: string): string {
  const key = digestBytes(JSON.stringify([basename(onnx), process.arch, availableParallelism(), describeCpu()]));
  return join(folder, `${model}-${width}x${height}-${key.slice(0, 16)}-tuning.json`);
}

/** `onnx`: the file of the network in int8, or its only one. Null: not measured on this machine, or damaged. */
export async function readTuning(
  card: ModelCard,
  onnx: string,
  folder: string = modelFolders().converted,
): Promise<Tuning | null> {
  try {
    const tuning = JSON.parse(await readFile(fileOf(card, onnx, folder), "utf8")) as Tuning;
    const { measured } = tuning;
    const isKnown = measured.some((one) => one.precision === tuning.precision && one.threads === tuning.threads);
    return isKnown ? tuning : null;
  } catch {
    return null;
  }
}

/** Returns its file. */
export async function writeTuning(
  card: ModelCard,
  onnx: string,
  tuning: Tuning,
  folder: string = modelFolders().converted,
): Promise<string> {
  const file = fileOf(card, onnx, folder);
  await writeAtomically(file, [Buffer.from(JSON.stringify(tuning))]);
  return file;
}
