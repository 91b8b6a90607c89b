/**
 * Describes every element of this machine's GStreamer, for a server that does not load it: `node registry-program.mjs FOLDER`
 * prints the path of a file with one JSON object a line, in that folder. Made anew when GStreamer's own cache has changed.
 */
import { register } from "tsx/esm/api";

register();
const { describeRegistry } = await import("./describe-registry.ts");
process.stdout.write(`${describeRegistry(process.argv[2] ?? ".")}\n`);
// GStreamer's plugins have threads of their own that would be waited for.
process.exit(0);
