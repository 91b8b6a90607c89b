/**
 * Publishes the clip of the demo in a child process of the server, which sends its request over the IPC channel of `fork`
 * (see schemas/clip.ts). Loads main.ts.
 */
import { load } from "../setup/load.mjs";

await load("clip", new URL("main.ts", import.meta.url), ["typebox", "ajv/dist/2020.js"]);
