/** Loads onnxruntime and opens sessions: the only place that sets session options. */
import type { InferenceSession } from "onnxruntime-node";
import { int8KernelsHere } from "./int8-kernels.ts";
import { findOptimised, writeOptimised } from "./optimised.ts";

interface SessionOptions {
  /** An ONNX file, or its content. */
  readonly onnx: string | Uint8Array;
  /** Written by Windhover's converter for the kernels of this machine, so that its sums do not overflow. */
  readonly isConverted: boolean;
  readonly threads: number;
  /** Execution providers of onnxruntime, in order of preference. */
  readonly providers: readonly string[];
}

/** Throws for a file that is not a model, or a provider that is not available. */
export async function openSession(
  { onnx, isConverted, threads, providers }: SessionOptions,
  warn: (warning: string) => void = () => {},
): Promise<InferenceSession> {
  const { InferenceSession, env } = await loadOnnxruntime();
  expectProviders(providers, await listProviders());
  const options = optionsOf(providers, threads);
  if (typeof onnx === "string" && isConverted && providers.join() === "cpu") {
    const optimised = await findOptimised(onnx, env.versions.node ?? "");
    if (optimised !== null)
      return InferenceSession.create(optimised, { ...options, graphOptimizationLevel: "disabled" });
  }
  const create = (extra?: SessionExtra): Promise<InferenceSession> => {
    const all = { ...options, ...(extra && { extra }) };
    return typeof onnx === "string" ? InferenceSession.create(onnx, all) : InferenceSession.create(onnx, all);
  };
  return int8KernelsHere().saturate && !isConverted ? createPrecisely(create, warn) : create();
}

const optionsOf = (providers: readonly string[], threads: number): InferenceSession.SessionOptions => ({
  executionProviders: [...providers],
  intraOpNumThreads: threads,
  interOpNumThreads: 1,
  executionMode: "sequential",
  // Only this level uses channels-last layout, which is faster and for which pairs of weights were narrowed.
  graphOptimizationLevel: "all",
  logSeverityLevel: 3,
});

/** Of a conversion, for the CPU: `openSession` uses it from then on. Returns its file, or null if there is one already. */
export async function optimise(onnx: string): Promise<string | null> {
  const { InferenceSession, env } = await loadOnnxruntime();
  const version = env.versions.node ?? "";
  if ((await findOptimised(onnx, version)) !== null) return null;
  return writeOptimised(onnx, version, (optimizedModelFilePath) =>
    InferenceSession.create(onnx, { ...optionsOf(["cpu"], 1), optimizedModelFilePath }),
  );
}

/** Those that onnxruntime was built with here; their libraries and devices may be missing. */
export async function listProviders(): Promise<readonly string[]> {
  const { listSupportedBackends } = await loadOnnxruntime();
  return listSupportedBackends().map(({ name }) => name);
}

function expectProviders(wanted: readonly string[], offered: readonly string[]): void {
  const missing = wanted.filter((name) => !offered.includes(name));
  if (missing.length === 0) return;
  throw new Error(
    `onnxruntime does not offer the provider ${missing.join(", ")} here; it offers ${offered.join(", ")}`,
  );
}

type SessionExtra = Readonly<Record<string, Readonly<Record<string, string>>>>;

/**
 * For CPUs whose kernels saturate (see int8-kernels.ts): without it the confidences of an int8 model that was converted
 * elsewhere are up to 12 points too low. It works on every x86-64 with AVX2; with VNNI it is not needed and makes
 * inference two to three times slower.
 */
const WITHOUT_OVERFLOW: SessionExtra = { session: { x64quantprecision: "1" } };

/**
 * For precise kernels onnxruntime stores the weights as another type under a new name, and fails if that name exists:
 * in models from elsewhere several nodes may share weights.
 */
const SHARED_WEIGHTS = /_s8_2_u8|Initializer with same name exists/;

/** `create` opens a model. Calls it again without precise kernels, with a warning, if these are not possible. */
export async function createPrecisely<S>(
  create: (extra?: SessionExtra) => Promise<S>,
  warn: (warning: string) => void,
): Promise<S> {
  try {
    return await create(WITHOUT_OVERFLOW);
  } catch (error) {
    if (!SHARED_WEIGHTS.test((error as Error).message)) throw error;
    const session = await create();
    warn(
      "nodes of this int8 model share weights, so that onnxruntime cannot use precise sums: on this CPU, which has no VNNI, confidences are lower than on others; export the model without shared weights",
    );
    return session;
  }
}

/**
 * The only way to load onnxruntime. From 1.29 on it sends usage telemetry to its vendor and stores a machine identifier
 * in the home folder, unless this variable is set before it is loaded. Worker threads must share the environment of the
 * process for the variable to reach native code.
 */
export async function loadOnnxruntime(): Promise<typeof import("onnxruntime-node")> {
  process.env.ORT_DISABLE_TELEMETRY = "1";
  return import("onnxruntime-node");
}
