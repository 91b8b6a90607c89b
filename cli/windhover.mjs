#!/usr/bin/env node
/** The command `windhover`: hands over to main.ts. */
import { load } from "../setup/load.mjs";

const [, , command = "help"] = process.argv;
const isLight = command === "help" || command.startsWith("-");
const LIBRARIES = ["typebox", "yaml", "ajv/dist/2020.js"];

/** Before `npm start` there are none. */
function refuseWithoutLibraries(error) {
  if (error.code !== "ERR_MODULE_NOT_FOUND") throw error;
  process.stderr.write("windhover: its libraries are not installed yet: run `npm start` or `npm test` once\n");
  process.exit(1);
}

// Benches are found by their files and read from them, and with them everything that they measure.
const name = command === "bench" ? null : "cli";
const { main } = await load(name, new URL("main.ts", import.meta.url), isLight ? [] : LIBRARIES).catch(
  refuseWithoutLibraries,
);
await main(process.argv.slice(2));
