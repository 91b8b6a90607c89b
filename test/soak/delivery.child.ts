/** The outbox of a server in its own process: creates notices for all receivers of the database until it receives a message. */
import { setTimeout as wait } from "node:timers/promises";
import { makeConfig } from "../../server/api/app.fixture.ts";
import { Outbox } from "../../server/delivery/outbox.ts";
import { silentLog } from "../../server/store/database.fixture.ts";
import { openDatabase } from "../../server/store/database.ts";
import { newUuid } from "../../server/uuid.ts";

const LANES = 4;
const PAUSE_MS = 10;

const config = makeConfig({
  DATABASE_URL: process.argv[2] ?? "",
  DELIVERY_RETRY_MOST_SECONDS: "0.5",
});
const { sql } = await openDatabase(config, silentLog);
const nodeUuid = newUuid();
const outbox = await Outbox.open({
  ...{ sql, config, log: silentLog, nodeUuid, softwareVersion: "1.2.3", isAlone: false },
  limits: { leaseSeconds: 1, lookMs: 200, retryFirstMs: 100 },
});
const destinations = await sql<{ uuid: string }[]>`select uuid from destinations order by uuid`;
let isLoading = true;
process.on("message", () => {
  isLoading = false;
});

/** Records every committed notice in the same transaction, so that the database knows all of them after a crash. */
async function load(): Promise<void> {
  while (isLoading) {
    const chosen = destinations.filter(() => Math.random() < 0.7).map(({ uuid }) => uuid);
    const deliveries = chosen.map((destinationUuid) => {
      const id = newUuid();
      return { id, destinationUuid, body: JSON.stringify({ id, text: "x".repeat(Math.random() * 500) }) };
    });
    await sql.begin(async (tx) => {
      if (deliveries.length === 0) return;
      await outbox.enqueue(tx, deliveries);
      await tx`
        insert into promised (destination_uuid, seq, id, body)
        select destination_uuid, seq, id, body from parcels where id in ${tx(deliveries.map(({ id }) => id))}`;
    });
    outbox.wake();
    await wait(PAUSE_MS * Math.random());
  }
}

process.send?.("ready");
await Promise.all(Array.from({ length: LANES }, load));
process.send?.("loaded");
