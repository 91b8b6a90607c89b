#!/usr/bin/env node
/** The command `windhover`: makes Node read TypeScript, then hands over to main.ts. */

// Loaded before tsx hooks into loading: taking their hundreds of files through it would double the time to start.
const LIGHT = [undefined, "help", "--help", "-h", "--version", "-v"];
if (!LIGHT.includes(process.argv[2])) {
  await Promise.all([import("typebox"), import("typebox/value"), import("yaml"), import("ajv/dist/2020.js")]);
}
const { register } = await import("tsx/esm/api");
register();
const { main } = await import("./main.ts");
await main(process.argv.slice(2));
