/** Writes the description of all GStreamer factories to a file: it loads every plugin and takes seconds, so it is cached. */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { writeFactory } from "../../graphs/compiler/registry-file.ts";
import { loadRegistry } from "../../graphs/runtime/registry.ts";
import { registryFile, registryFolder } from "./registry.ts";

/** Includes partial files of killed writers. */
const NAME = /^gstreamer-.*\.jsonl(\.\d+)?$/;
const OLD_MS = 24 * 3600 * 1000;

/** Returns the file. */
export function describeRegistry(): string {
  const registry = loadRegistry();
  const factories = registry.list();
  // Only now has GStreamer updated its own cache, which names the file.
  const kept = registryFile();
  if (kept !== null && existsSync(kept)) return kept;
  const folder = registryFolder();
  const file = kept ?? join(folder, `gstreamer-${process.pid}.jsonl`);
  mkdirSync(folder, { recursive: true });
  removeOld(folder);
  // Without those whose plugin cannot be loaded.
  const lines = factories.flatMap(({ name }) => {
    const factory = registry.get(name);
    return factory === undefined ? [] : [writeFactory(factory)];
  });
  const partial = `${file}.${process.pid}`;
  writeFileSync(partial, lines.join(""));
  renameSync(partial, file);
  return file;
}

/** Newer files may be in use by a process with other plugins. */
function removeOld(folder: string): void {
  const files = readdirSync(folder).filter((name) => NAME.test(name));
  for (const file of files.map((name) => join(folder, name))) {
    const modifiedMs = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
    if (modifiedMs < Date.now() - OLD_MS) rmSync(file, { force: true });
  }
}
