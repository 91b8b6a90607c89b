/** Entry point of the media hub process, which the server forks and controls over IPC (see schemas/hub.ts). */
import { load } from "../setup/load.mjs";

await load("hub", new URL("main.ts", import.meta.url), ["typebox", "ajv/dist/2020.js"], { isLasting: true });
