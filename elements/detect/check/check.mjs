/**
 * Checks one model in a separate process: `node check.mjs CARD ONNX` prints the result as one line of JSON (see
 * schemas/model-check.ts). Loads main.ts.
 */
import { load } from "../../../setup/load.mjs";

await load("model-check", new URL("main.ts", import.meta.url));
