/**
 * Runs a built element and returns its exports. A script, and not a module: Node keeps every imported module until the
 * process ends, and a script only as long as something refers to it.
 */
import { createRequire } from "node:module";
import { compileFunction } from "node:vm";
import type { BuiltElement } from "./build.ts";
import { loadHostModules } from "./host-modules.ts";
import { keepMap } from "./source-lines.ts";

/** `file` is absolute. Rejects with what the element throws. */
export async function evaluateElement(
  file: string,
  { code, map }: Pick<BuiltElement, "code" | "map">,
): Promise<unknown> {
  const host = await loadHostModules();
  const filename = keepMap(file, map);
  const module = { exports: {} };
  const run = compileFunction(code, ["module", "exports", "require", "__host"], { filename });
  run(module, module.exports, createRequire(file), host);
  return module.exports;
}
