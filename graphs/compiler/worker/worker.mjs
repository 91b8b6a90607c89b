/** Entry of the compiler thread: loads worker.ts. */
import { load } from "../../../setup/load.mjs";

await load("compiler", new URL("worker.ts", import.meta.url));
