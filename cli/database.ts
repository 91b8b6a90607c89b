/** The database for commands that work with and without a running server. */
import { access } from "node:fs/promises";
import { resolve } from "node:path";
import type { Config } from "../schemas/config.ts";
import { loadConfig } from "../server/config/load.ts";
import { KeyFault } from "../server/keys/keys.ts";
import { openLog } from "../server/log/log.ts";
import { ServiceError } from "../server/service-error.ts";
import { DatabaseFault, type Sql } from "../server/store/client.ts";
import { borrowDatabase } from "../server/store/database.ts";
import { listDataFolders } from "../server/store/postgres-setup.ts";
import { CommandFailure, type Given, type Options } from "./command.ts";
import { configSources } from "./workspace.ts";

export const DATABASE_OPTIONS: Options = {
  config: {
    type: "string",
    value: "FILE",
    about: "Configuration file; default: windhover.yaml in the working directory, or the nearest one above it.",
  },
  json: { type: "boolean", about: "Print as JSON." },
};

export const DATABASE_NOTES =
  "Works with and without a running server. The database is the one in the configuration (DATABASE_URL, or the private database in data_dir).";

/** Opens the database of a running server, or starts it for this command. `mayMake`: creates it if there is none. */
export async function withDatabase<T>(
  given: Given,
  mayMake: boolean,
  work: (sql: Sql, config: Config) => Promise<T>,
): Promise<T> {
  const { config } = loadConfig(configSources(given.text("config")));
  const log = openLog({ ...config.log, level: "warn" });
  try {
    if (!mayMake) await expectDatabase(config);
    const database = await borrowDatabase(config, log.logger);
    try {
      return await work(database.sql, config);
    } finally {
      await database.close();
    }
  } catch (error) {
    const isExplained = [KeyFault, ServiceError, DatabaseFault].some((kind) => error instanceof kind);
    throw isExplained ? new CommandFailure((error as Error).message, { cause: error }) : error;
  } finally {
    await log.close();
  }
}

/** A command run in the wrong folder must not leave a database there. */
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
    `there is no database in ${folder} (data_dir); run this in the folder where the server is started, or give its configuration with --config`,
  );
}
