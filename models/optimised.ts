/**
 * Networks as onnxruntime optimises them for this CPU, kept beside the conversions. The set-up writes them: opening one
 * takes a fifth of the processor time that optimising it again takes, and gives the same results bit by bit.
 */
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import type { InferenceSession } from "onnxruntime-node";
import { digestBytes, hasDigest, writeAtomically } from "./files.ts";
import { describeCpu } from "./int8-kernels.ts";

const EXTENSION = ".optimised";

/**
 * Of a conversion `MODEL-WIDTHxHEIGHT-KEY-DIGEST.onnx`: with the key of its digest, this CPU and onnxruntime. Machines may
 * share a cache folder.
 */
function prefixOf(onnx: string, version: string): string {
  const parts = basename(onnx, ".onnx").split("-");
  const key = digestBytes(JSON.stringify([parts.at(-1), version, process.arch, describeCpu()]));
  return `${[...parts.slice(0, -2), key.slice(0, 16)].join("-")}-`;
}

/** `version` of onnxruntime. Null: there is none for this machine, or it is damaged. */
export async function findOptimised(onnx: string, version: string): Promise<string | null> {
  const [folder, prefix] = [dirname(onnx), prefixOf(onnx, version)];
  for (const name of await readdir(folder).catch(() => [])) {
    if (!name.startsWith(prefix) || !name.endsWith(EXTENSION)) continue;
    const file = join(folder, name);
    if (await hasDigest(file, name.slice(prefix.length, -EXTENSION.length))) return file;
  }
  return null;
}

/** `open` opens the conversion and lets onnxruntime write what it made of it. Returns the file. */
export async function writeOptimised(
  onnx: string,
  version: string,
  open: (optimizedModelFilePath: string) => Promise<InferenceSession>,
): Promise<string> {
  const temporary = await mkdtemp(join(tmpdir(), "windhover-optimised-"));
  try {
    const made = join(temporary, "network.onnx");
    await (await open(made)).release();
    const bytes = await readFile(made);
    const file = join(dirname(onnx), `${prefixOf(onnx, version)}${digestBytes(bytes)}${EXTENSION}`);
    await writeAtomically(file, [bytes]);
    return file;
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}
