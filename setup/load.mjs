/** Loads a program of ours: as the set-up bundled it, or read as TypeScript where a source has changed since. */
import module from "node:module";
import { findBundle } from "./find-bundle.mjs";

/**
 * @param {string} name that of the bundle
 * @param {URL} source its main file
 * @param {readonly string[]} libraries those of hundreds of files that the source loads: reading them before tsx hooks
 * into loading takes half the time
 */
export async function load(name, source, libraries = []) {
  // From Node 22 on: what was compiled is kept for the next start.
  module.enableCompileCache?.();
  const bundle = findBundle(name);
  if (bundle !== null) return import(bundle.href);
  if (process.env.WINDHOVER_CONFINED === "1")
    throw new Error("a source has changed since the service was started: restart it, or run `node setup/setup.mjs`");
  // Translating sources takes a program of its own: children of this process may start it as well.
  process.env.WINDHOVER_FROM_SOURCE = "1";
  const [{ register }] = await Promise.all([import("tsx/esm/api"), ...libraries.map((library) => import(library))]);
  register();
  const { listLinks } = await import("./linked-elements.mjs");
  if (listLinks().length > 0) module.register("./linked-elements.mjs", import.meta.url);
  return import(source.href);
}
