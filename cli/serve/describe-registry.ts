/** All factories into a file: describing them loads every plugin and takes seconds, so it is kept. */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { loadRegistry } from "../../graphs/runtime/registry.ts";

/** With the leftovers of those that were killed while they wrote. */
const NAME = /^gstreamer-[0-9a-f]{32}\.jsonl(\.\d+)?$/;
const OLD_MS = 24 * 3600 * 1000;

/** Returns the file. */
export function describeRegistry(folder: string): string {
  const registry = loadRegistry();
  // From here on GStreamer has looked at its plugins and brought its own cache up to date.
  const factories = registry.list();
  const identity = JSON.stringify([factories, ...caches(), stampOf(addonFile())]);
  const name = `gstreamer-${createHash("sha256").update(identity).digest("hex").slice(0, 32)}.jsonl`;
  const file = join(folder, name);
  if (existsSync(file)) return file;
  mkdirSync(folder, { recursive: true });
  const lines = factories.map((factory) => `${JSON.stringify(registry.get(factory.name) ?? null)}\n`);
  const partial = `${file}.${process.pid}`;
  writeFileSync(partial, lines.join(""));
  renameSync(partial, file);
  removeOld(folder, file);
  return file;
}

/** Younger ones may be about to be read by somebody with other plugins. */
function removeOld(folder: string, kept: string): void {
  const files = readdirSync(folder).filter((name) => NAME.test(name));
  for (const file of files.map((name) => join(folder, name))) {
    const modifiedMs = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
    if (file !== kept && modifiedMs < Date.now() - OLD_MS) rmSync(file, { force: true });
  }
}

const addonFile = (): string =>
  process.env.WINDHOVER_ADDON ?? fileURLToPath(new URL("../../build/windhover.node", import.meta.url));

/** Of GStreamer's own caches: rewritten when a plugin came, went or changed. */
function caches(): readonly string[] {
  const named = process.env.GST_REGISTRY_1_0 ?? process.env.GST_REGISTRY;
  if (named !== undefined) return [stampOf(named)];
  const folder = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "gstreamer-1.0");
  return existsSync(folder) ? readdirSync(folder).map((name) => stampOf(join(folder, name))) : [];
}

function stampOf(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false });
  return `${file} ${found?.mtimeMs} ${found?.size}`;
}
