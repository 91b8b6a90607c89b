import { allowConnections, closeAutoplug } from "../../../native/gstreamer.ts";
import { examineVideo } from "./examine-video.ts";

closeAutoplug();
allowConnections([]);

const [, , file = ""] = process.argv;
process.stdout.write(`${JSON.stringify(await examineVideo(file))}\n`);
