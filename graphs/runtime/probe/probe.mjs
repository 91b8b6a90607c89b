/**
 * Checks one video file in a separate process: `node probe.mjs FILE` prints the result as one line of JSON (see
 * schemas/probe.ts). Loads main.ts.
 */
import { load } from "../../../setup/load.mjs";

await load("probe", new URL("main.ts", import.meta.url));
