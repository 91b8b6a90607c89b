/** Where the description of GStreamer's elements is kept: under another name whenever GStreamer's own cache is another. */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { cacheFolder } from "../../models/cache.ts";

export const registryFolder = (): string => join(cacheFolder(), "registry");

/** Null where GStreamer keeps no cache: then nothing tells whether a description still holds. */
export function registryFile(): string | null {
  const caches = listCaches();
  if (caches.length === 0) return null;
  const addon = process.env.WINDHOVER_ADDON ?? fileURLToPath(new URL("../../build/windhover.node", import.meta.url));
  const identity = [...caches, addon].map(stampOf).join("\n");
  const digest = createHash("sha256").update(identity).digest("hex").slice(0, 32);
  return join(registryFolder(), `gstreamer-${digest}.jsonl`);
}

/** Rewritten by GStreamer when a plugin came, went or changed. */
function listCaches(): readonly string[] {
  const named = process.env.GST_REGISTRY_1_0 ?? process.env.GST_REGISTRY;
  if (named !== undefined) return existsSync(named) ? [named] : [];
  const folder = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "gstreamer-1.0");
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).filter((name) => /^registry\..*\.bin$/.test(name));
  return names.sort().map((name) => join(folder, name));
}

function stampOf(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false });
  return `${file} ${found?.mtimeMs} ${found?.size} ${found?.ino}`;
}
