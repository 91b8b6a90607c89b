/**
 * A runner: one graph in a process of its own, forked by the server and told what to do over the channel of `fork` (see
 * schemas/runner.ts). Hands over to main.ts.
 */
import { load } from "../../../setup/load.mjs";

await load("runner", new URL("main.ts", import.meta.url), ["typebox", "yaml", "ajv/dist/2020.js"]);
