/**
 * `providers: auto`: the first execution provider of onnxruntime that is available here and computes what the CPU
 * computes, verified by a run; otherwise the CPU, with the reason.
 */
import type { Outputs } from "./decode/decoder.ts";

/** In the list of providers: chosen here. */
export const AUTO = "auto";

/** Faster than `cpu` where they work, in order of preference. */
const ACCELERATED = ["cuda", "webgpu"] as const;
/**
 * Mean difference to the outputs of the CPU, as a fraction of their range. Other kernels round differently and may swap
 * objects with almost the same score; a driver that computes something else is far above.
 */
const TOLERANCE = 0.01;

/** A model that is open in one provider. */
export interface Trial {
  run(): Promise<Outputs>;
  release(): Promise<void>;
}

interface ProviderOptions<T extends Trial> {
  readonly offered: readonly string[];
  /** Opens the model; in another provider than `cpu`, with `cpu` for what that does not compute. */
  open(providers: readonly string[]): Promise<T>;
  warn(warning: string): void;
}

/** Rejects when the model cannot be opened or run on the CPU. */
export async function chooseProvider<T extends Trial>({ offered, open, warn }: ProviderOptions<T>): Promise<T> {
  const cpu = await open(["cpu"]);
  const candidates = ACCELERATED.filter((name) => offered.includes(name));
  if (candidates.length === 0) return cpu;
  const expected = copy(await cpu.run());
  for (const name of candidates) {
    const chosen = await tryProvider(name, expected, open).catch((error: Error) => error.message);
    if (typeof chosen !== "string") {
      await cpu.release();
      return chosen;
    }
    warn(`the execution provider ${name} is not used, inference runs on the CPU: ${chosen}`);
  }
  return cpu;
}

async function tryProvider<T extends Trial>(
  name: string,
  expected: Outputs,
  open: ProviderOptions<T>["open"],
): Promise<T | string> {
  const trial = await open([name, "cpu"]);
  const fault = await trial.run().then(
    (outputs) => compareOutputs(expected, outputs),
    (error: Error) => error.message,
  );
  if (fault === null) return trial;
  await trial.release();
  return fault;
}

/** A session may reuse the memory of its outputs. */
const copy = (outputs: Outputs): Outputs =>
  Object.fromEntries(
    Object.entries(outputs).map(([name, { data, ...rest }]) => [name, { ...rest, data: data.slice() }]),
  );

/** Null: the same but for rounding. */
export function compareOutputs(expected: Outputs, found: Outputs): string | null {
  for (const [name, { dims, data }] of Object.entries(expected)) {
    const other = found[name];
    if (other === undefined || other.dims.join() !== dims.join())
      return `its output ${name} is [${other?.dims.join(", ") ?? "missing"}], expected [${dims.join(", ")}]`;
    if (!(data instanceof Float32Array)) continue;
    const difference = meanDifference(data, other.data as Float32Array);
    if (!(difference <= TOLERANCE))
      return `its output ${name} differs from that of the CPU by ${(100 * difference).toFixed(1)} % on average`;
  }
  return null;
}

/** As a fraction of the range of `expected`. */
function meanDifference(expected: Float32Array, found: Float32Array): number {
  let [least, most, sum] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0];
  for (const [index, value] of expected.entries()) {
    least = Math.min(least, value);
    most = Math.max(most, value);
    sum += Math.abs(value - (found[index] ?? Number.NaN));
  }
  return expected.length === 0 ? 0 : sum / expected.length / Math.max(most - least, Number.EPSILON);
}
