/** GStreamer's registry as data. A short-lived child process reads it, so that the server never loads the addon. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, openSync, readdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { RegistryFile } from "../../graphs/compiler/registry-file.ts";
import { cacheFolder } from "../../models/cache.ts";

const PROGRAM = fileURLToPath(new URL("registry-program.mjs", import.meta.url));
/** Of the lines of the file, and their order. */
const FORMAT = 3;
/** A cold machine with slow disks needs seconds. */
const LIMIT_MS = 60_000;

export async function readRegistry(): Promise<RegistryFile> {
  const known = registryFile();
  const file = known !== null && existsSync(known) ? known : await describe();
  return new RegistryFile(openSync(file, "r"));
}

async function describe(): Promise<string> {
  const limits = { timeout: LIMIT_MS, killSignal: "SIGKILL" } as const;
  const { stdout } = await promisify(execFile)("setpriv", ["--pdeathsig", "KILL", process.execPath, PROGRAM], limits);
  return stdout.trim().split("\n").at(-1) ?? "";
}

/**
 * The cached description has a name derived from the contents of GStreamer's own cache, not from times or inodes, which
 * an image does not keep.
 */
export const registryFolder = (): string => join(cacheFolder(), "registry");

/** Null where GStreamer has no cache: then a description cannot be validated. */
export function registryFile(): string | null {
  const caches = listCaches();
  if (caches.length === 0) return null;
  const addon = process.env.WINDHOVER_ADDON ?? fileURLToPath(new URL("../../build/windhover.node", import.meta.url));
  const identity = createHash("sha256");
  for (const file of [...caches, addon]) identity.update(digestOf(file));
  return join(registryFolder(), `gstreamer-${FORMAT}-${identity.digest("hex").slice(0, 32)}.jsonl`);
}

/** GStreamer rewrites them when a plugin was added, removed or changed. */
function listCaches(): readonly string[] {
  const named = process.env.GST_REGISTRY_1_0 ?? process.env.GST_REGISTRY;
  if (named !== undefined) return existsSync(named) ? [named] : [];
  const folder = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "gstreamer-1.0");
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).filter((name) => /^registry\..*\.bin$/.test(name));
  return names.sort().map((name) => join(folder, name));
}

/** A few megabytes, in a few milliseconds. Empty for a file that is missing or being replaced. */
function digestOf(file: string): Buffer {
  try {
    return createHash("sha256").update(readFileSync(file)).digest();
  } catch {
    return Buffer.alloc(0);
  }
}
