/** The beginning of the thread that compiles: hands over to worker.ts. */
import { load } from "../../../setup/load.mjs";

await load("compiler", new URL("worker.ts", import.meta.url));
