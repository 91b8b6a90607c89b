#!/usr/bin/env node
/** The command `windhover`: makes Node read TypeScript, then hands over to main.ts. */
import module from "node:module";

// From Node 22 on: what was compiled is kept for the next start.
module.enableCompileCache?.();

// Libraries of hundreds of files are loaded before tsx hooks into loading, which would double the time they take.
const [, , command = "help"] = process.argv;
const isLight = command === "help" || command.startsWith("-");
const libraries = isLight ? [] : [import("typebox"), import("yaml"), import("ajv/dist/2020.js")];

/** Before `npm start` there are none. */
function refuseWithoutLibraries(error) {
  if (error.code !== "ERR_MODULE_NOT_FOUND") throw error;
  process.stderr.write("windhover: its libraries are not installed yet: run `npm start` or `npm test` once\n");
  process.exit(1);
}

const [{ register }] = await Promise.all([import("tsx/esm/api"), ...libraries]).catch(refuseWithoutLibraries);
register();
const { main } = await import("./main.ts");
await main(process.argv.slice(2));
