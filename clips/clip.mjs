/**
 * What publishes the clip of the demo, in a process of its own, forked by the server and told what to do over the channel
 * of `fork` (see schemas/clip.ts). Hands over to main.ts.
 */
import { load } from "../setup/load.mjs";

await load("clip", new URL("main.ts", import.meta.url), ["typebox", "ajv/dist/2020.js"]);
