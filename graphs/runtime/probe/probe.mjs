/**
 * Looks into one video file in a process of its own: `node probe.mjs FILE` prints what it found as one line of JSON (see
 * schemas/probe.ts). Hands over to main.ts.
 */
import { load } from "../../../setup/load.mjs";

await load("probe", new URL("main.ts", import.meta.url));
