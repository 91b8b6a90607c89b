/** Opens models in onnxruntime: the one place that decides the options of a session that runs. */
import type { InferenceSession } from "onnxruntime-node";
import { int8KernelsHere } from "./int8-kernels.ts";
import { loadOnnxruntime } from "./onnxruntime.ts";
import { createPrecisely, type SessionExtra } from "./precise-sums.ts";

export interface SessionOrder {
  /** An ONNX file, or its content. */
  readonly onnx: string | Uint8Array;
  /** Made by our converter for the kernels of this machine, so that its sums do not overflow. */
  readonly isConverted: boolean;
  readonly threads: number;
  /** Of onnxruntime, in order of preference. */
  readonly providers: readonly string[];
}

/** Throws for a file that is not a model, or a provider that is not available. */
export async function openSession(
  { onnx, isConverted, threads, providers }: SessionOrder,
  warn: (warning: string) => void = () => {},
): Promise<InferenceSession> {
  const { InferenceSession, listSupportedBackends } = await loadOnnxruntime();
  expectProviders(
    providers,
    listSupportedBackends().map(({ name }) => name),
  );
  const create = (extra?: SessionExtra): Promise<InferenceSession> => {
    const options: InferenceSession.SessionOptions = {
      executionProviders: [...providers],
      intraOpNumThreads: threads,
      interOpNumThreads: 1,
      executionMode: "sequential",
      // Only this level puts channels last: the order in which pairs of weights were narrowed, and the fast one.
      graphOptimizationLevel: "all",
      logSeverityLevel: 3,
      ...(extra && { extra }),
    };
    return typeof onnx === "string" ? InferenceSession.create(onnx, options) : InferenceSession.create(onnx, options);
  };
  return int8KernelsHere().saturate && !isConverted ? createPrecisely(create, warn) : create();
}

function expectProviders(asked: readonly string[], offered: readonly string[]): void {
  const missing = asked.filter((name) => !offered.includes(name));
  if (missing.length === 0) return;
  throw new Error(
    `the provider ${missing.join(", ")} is not offered by onnxruntime here; it offers ${offered.join(", ")}`,
  );
}
