/**
 * Analyses the images of tracks in a child process of the server, which sends its requests over the IPC channel of `fork`
 * (see schemas/enhancement.ts). Loads main.ts.
 */
import { load } from "../setup/load.mjs";

await load("enhance", new URL("main.ts", import.meta.url), ["typebox", "ajv/dist/2020.js", "culori/fn"]);
