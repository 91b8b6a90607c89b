/** What graphs/runtime/probe/main.ts does, for several files in one process: one line of JSON for each. */
import { examineVideo } from "../../graphs/runtime/probe/examine-video.ts";
import { allowConnections, closeAutoplug } from "../../native/gstreamer.ts";

closeAutoplug();
allowConnections([]);

for (const file of process.argv.slice(2)) process.stdout.write(`${JSON.stringify(await examineVideo(file))}\n`);
