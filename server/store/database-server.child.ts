/**
 * A server that has a database and nothing else, as a process of its own:
 *
 *   node --import tsx database-server.child.ts DATA_DIR
 *
 * Says `ready` and PostgreSQL's pid on standard output. On SIGINT it still uses its database, says `used`, closes it and
 * says `closed`. What keeps it from starting goes to standard error.
 */

import { DatabaseFault } from "./client.ts";
import { DATABASE_LIMITS, PATIENT, silentLog } from "./database.fixture.ts";
import { openDatabase } from "./database.ts";
import { TEST_SECRETS } from "./sealing/test-key.fixture.ts";

const [, , dataDir = ""] = process.argv;
try {
  const database = await openDatabase(
    { data_dir: dataDir, database: DATABASE_LIMITS, secrets: TEST_SECRETS },
    silentLog,
    PATIENT,
  );
  const [row] = await database.sql<{ pid: string }[]>`
    select split_part(pg_read_file('postmaster.pid'), E'\n', 1) as pid`;
  await database.sql`create table if not exists birds (n serial)`;
  await database.sql`insert into birds default values`;
  process.once("SIGINT", async () => {
    await database.sql`insert into birds default values`;
    console.log("used");
    await database.close();
    console.log("closed");
  });
  console.log(`ready ${row?.pid}`);
} catch (error) {
  if (!(error instanceof DatabaseFault)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
