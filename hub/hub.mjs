/**
 * The media hub, in a process of its own, forked by the server and told what to do over the channel of `fork` (see
 * schemas/hub.ts). Hands over to main.ts.
 */
import { load } from "../setup/load.mjs";

await load("hub", new URL("main.ts", import.meta.url), ["typebox", "ajv/dist/2020.js"]);
