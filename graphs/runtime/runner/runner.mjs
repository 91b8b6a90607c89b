/**
 * A runner: one graph in a process of its own, forked by the server and told what to do over the channel of `fork` (see
 * schemas/runner.ts). Hands over to main.ts: bundled by the set-up, or read as TypeScript where it has changed since.
 */
import module from "node:module";
import { findBundle } from "../../../setup/find-bundle.mjs";

// From Node 22 on: what was compiled is kept for the next start.
module.enableCompileCache?.();

const bundle = findBundle("runner");
if (bundle === null) {
  // Libraries of hundreds of files are loaded before tsx hooks into loading, which would double the time they take.
  const [{ register }] = await Promise.all([
    import("tsx/esm/api"),
    import("typebox"),
    import("yaml"),
    import("ajv/dist/2020.js"),
  ]);
  register();
  await import("./main.ts");
} else {
  await import(bundle.href);
}
