/** The database of keys for one command: that of a server that runs, else started for the moment. */
import { access } from "node:fs/promises";
import { resolve } from "node:path";
import type { Config } from "../../schemas/config.ts";
import { loadConfig } from "../../server/config/load.ts";
import { KeyFault } from "../../server/keys/keys.ts";
import { openLog } from "../../server/log/log.ts";
import { ServiceError } from "../../server/service-error.ts";
import { DatabaseFault, type Sql } from "../../server/store/client.ts";
import { borrowDatabase } from "../../server/store/database.ts";
import { listDataFolders } from "../../server/store/postgres-setup.ts";
import { CommandFailure, type Given, type Options } from "../command.ts";

export const KEYS_OPTIONS: Options = {
  config: { type: "string", value: "FILE", about: "Instead of windhover.yaml in the working directory." },
  json: { type: "boolean", about: "Print as JSON." },
};

export const KEYS_NOTES =
  "Works beside a running server and without one: the database is the one that the configuration names (DATABASE_URL, or the private one below data_dir).";

/** What is refused is told without a stack. `mayMake`: an empty database is made where there is none. */
export async function withKeys<T>(given: Given, mayMake: boolean, work: (sql: Sql) => Promise<T>): Promise<T> {
  const { config } = loadConfig({ file: given.text("config") ?? null, folder: process.cwd(), env: process.env });
  const log = openLog({ ...config.log, level: "warn" });
  try {
    if (!mayMake) await expectDatabase(config);
    const database = await borrowDatabase(config, log.logger);
    try {
      return await work(database.sql);
    } finally {
      await database.close();
    }
  } catch (error) {
    const isTold = [KeyFault, ServiceError, DatabaseFault].some((kind) => error instanceof kind);
    throw isTold ? new CommandFailure((error as Error).message, { cause: error }) : error;
  } finally {
    await log.close();
  }
}

/** Looking for keys in the wrong folder should not leave a database there. */
async function expectDatabase(config: Config): Promise<void> {
  if (config.database.url !== null) return;
  const folder = resolve(config.data_dir);
  for (const candidate of await listDataFolders(folder)) {
    const isThere = await access(candidate).then(
      () => true,
      (error: NodeJS.ErrnoException) => error.code === "EACCES",
    );
    if (isThere) return;
  }
  throw new CommandFailure(
    `there is no database in ${folder} (data_dir); run this in the folder that the server is started in, or name its configuration with --config`,
  );
}
