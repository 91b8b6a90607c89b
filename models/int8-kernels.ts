/** The int8 kernels that onnxruntime uses on a CPU. They decide how a network is stored and how a session is opened. */
import { readFileSync } from "node:fs";

export interface Int8Kernels {
  /**
   * The type of activations with the fastest kernels. Both give the same detections. On x86-64 onnxruntime has kernels
   * for uint8 only and computes an int8 network in float32.
   */
  readonly activations: "int8" | "uint8";
  /** Adjacent products are added in 16 bits with saturation, so that sums are too small. */
  readonly saturate: boolean;
}

const ARM64: Int8Kernels = { activations: "int8", saturate: false };
/** Required by one kernel set of onnxruntime (MlasGemmU8S8KernelAvx512Core). */
const AVX512 = ["avx512f", "avx512bw", "avx512dq", "avx512vl"];

/** `cpuinfo`: the text of /proc/cpuinfo. Without flags, assumes saturation: such a network is correct on every CPU. */
export function findInt8Kernels(arch: string, cpuinfo: string): Int8Kernels {
  if (arch === "arm64") return ARM64;
  const found = /^flags\s*:(.*)$/m.exec(cpuinfo)?.[1];
  return { activations: "uint8", saturate: found === undefined || doesSaturate(new Set(found.trim().split(/\s+/))) };
}

/** Follows the order in onnxruntime's `MLAS_PLATFORM`: AVX-512 replaces AVX2, with or without VNNI. */
function doesSaturate(flags: ReadonlySet<string>): boolean {
  // SSE kernels widen bytes before they multiply.
  if (!flags.has("avx2") || !flags.has("fma")) return false;
  return !flags.has(AVX512.every((flag) => flags.has(flag)) ? "avx512_vnni" : "avx_vnni");
}

/** All variants for CPUs of an architecture. */
export const listInt8Kernels = (arch: string): readonly Int8Kernels[] =>
  arch === "arm64" ? [ARM64] : [false, true].map((saturate) => ({ activations: "uint8", saturate }));

let here: Int8Kernels | null = null;

/** The kernels of this machine, read once. */
export function int8KernelsHere(): Int8Kernels {
  here ??= findInt8Kernels(process.arch, readCpuinfo());
  return here;
}

/** What distinguishes CPUs, for keys of what was made or measured for one. */
export const describeCpu = (): readonly string[] => [
  ...new Set(
    readCpuinfo()
      .split("\n")
      .filter((line) => /^(flags|Features|model name|CPU part)\s*:/.test(line)),
  ),
];

/** Empty where there is none. */
export function readCpuinfo(): string {
  try {
    return readFileSync("/proc/cpuinfo", "utf8");
  } catch {
    return "";
  }
}
