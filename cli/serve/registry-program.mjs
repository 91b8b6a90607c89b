/**
 * Describes every element of this machine's GStreamer, for a server that does not load it. Prints the path of a file with
 * one JSON object a line.
 */
import { load } from "../../setup/load.mjs";

const { describeRegistry } = await load("registry", new URL("describe-registry.ts", import.meta.url));
process.stdout.write(`${describeRegistry()}\n`, () => {
  // GStreamer's plugins have threads of their own that would be waited for.
  process.exit(0);
});
