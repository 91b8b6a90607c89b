/** The beginning of an inference worker: hands over to worker.ts. */
import { load } from "../../../setup/load.mjs";

await load("inference", new URL("worker.ts", import.meta.url));
