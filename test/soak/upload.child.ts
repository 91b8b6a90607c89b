/** A server for uploads in its own process, which reports its peak memory. */
import { openSourcesService } from "../../server/sources/sources.fixture.ts";
import { rssMb } from "./rounds.fixture.ts";

const SAMPLE_MS = 5;

const service = await openSourcesService();
const { user } = await service.addUser();
let peakMb = rssMb();
const sampling = setInterval(() => {
  peakMb = Math.max(peakMb, rssMb());
}, SAMPLE_MS);

process.on("message", async (command) => {
  if (command === "read") {
    process.send?.({ peakMb, nowMb: rssMb() });
    peakMb = rssMb();
    return;
  }
  clearInterval(sampling);
  await service.close();
  process.disconnect();
});
process.send?.({ url: service.app.url, key: user.username });
