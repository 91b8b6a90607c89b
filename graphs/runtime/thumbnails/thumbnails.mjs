/** Decodes single frames of videos in a separate process, see main.ts. */
import { load } from "../../../setup/load.mjs";

await load("thumbnails", new URL("main.ts", import.meta.url));
