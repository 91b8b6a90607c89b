import { examineVideo } from "./examine-video.ts";

const [, , file = ""] = process.argv;
process.stdout.write(`${JSON.stringify(await examineVideo(file))}\n`);
