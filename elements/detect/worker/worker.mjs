/** Entry point of an inference worker: loads worker.ts. */
import { load } from "../../../setup/load.mjs";

await load("inference", new URL("worker.ts", import.meta.url));
