/** A node of the service whose runners have no graph. Prints the ready line, and ends with SIGTERM. */
import { gatherKnowledge } from "../../../cli/serve/gather-knowledge.ts";
import { loadConfig } from "../../../server/config/load.ts";
import { openLog } from "../../../server/log/log.ts";
import { startServer } from "../../../server/main.ts";

const { config } = loadConfig({ file: null, folder: process.cwd(), env: process.env });
const log = openLog(config.log);
const knowledge = { ...(await gatherKnowledge(config)), runnerEntry: new URL("./runner.mjs", import.meta.url) };
const signal = new AbortController().signal;
const { url, rtsp, stop } = await startServer({ config, knowledge, log: log.logger, signal });
process.once("SIGTERM", async () => {
  await stop();
  await log.close();
  process.exit(0);
});
console.log(JSON.stringify({ event: "ready", url, rtsp }));
