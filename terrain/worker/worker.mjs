/** Entry of the terrain thread: loads worker.ts. */
import { load } from "../../setup/load.mjs";

await load("terrain", new URL("worker.ts", import.meta.url));
