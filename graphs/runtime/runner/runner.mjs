/**
 * A runner: one graph in a separate process, forked by the server and controlled over the IPC channel of `fork` (see
 * schemas/runner.ts). Loads main.ts.
 */
import { load } from "../../../setup/load.mjs";

await load("runner", new URL("main.ts", import.meta.url), ["typebox", "yaml", "ajv/dist/2020.js"]);
