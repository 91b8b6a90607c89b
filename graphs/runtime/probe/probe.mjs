/**
 * Looks into one video file in a process of its own: `node probe.mjs FILE` prints what it found as one line of JSON (see
 * schemas/probe.ts). Makes Node read TypeScript, then hands over to main.ts.
 */
import module from "node:module";

// From Node 22 on: what was compiled is kept for the next start.
module.enableCompileCache?.();

const { register } = await import("tsx/esm/api");
register();
await import("./main.ts");
