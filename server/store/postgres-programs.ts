import { execFile } from "node:child_process";
import { access, constants, readdir } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { DatabaseFault } from "./fault.ts";

const run = promisify(execFile);
/** Debian keeps every major version in a folder of its own, and none of them on the path. */
const DEBIAN_FOLDER = "/usr/lib/postgresql";
const OLDEST = 13;

export interface Programs {
  readonly version: number;
  readonly initdb: string;
  readonly postgres: string;
}

/** Of the version that made the data, or the newest when there is none yet. `folder` says where the data is. */
export async function findPrograms(dataVersion: number | null, folder: string): Promise<Programs> {
  const installed = await listInstalled();
  if (dataVersion === null) {
    const newest = installed.find(({ version }) => version >= OLDEST);
    if (newest !== undefined) return newest;
    throw new DatabaseFault(
      `PostgreSQL ${OLDEST} or later was not found, neither in ${DEBIAN_FOLDER} nor on the path. ` +
        "`node setup/setup.mjs` installs it, or name a database by DATABASE_URL.",
    );
  }
  const same = installed.find(({ version }) => version === dataVersion);
  if (same !== undefined) return same;
  const versions = [...new Set(installed.map(({ version }) => version))].join(", ");
  throw new DatabaseFault(
    `The database in ${folder} was made by PostgreSQL ${dataVersion}; installed is ${versions || "none"}. ` +
      `Install postgresql-${dataVersion}, or carry the data over with pg_upgrade, or move that folder away to begin anew.`,
  );
}

/** The newest first. */
async function listInstalled(): Promise<readonly Programs[]> {
  const debian = (await readdir(DEBIAN_FOLDER).catch(() => [])).map((name) => join(DEBIAN_FOLDER, name, "bin"));
  const path = (process.env.PATH ?? "").split(delimiter).filter((folder) => folder.startsWith("/"));
  const found = await Promise.all([...debian, ...path].map(inspect));
  return found.flat().sort((a, b) => b.version - a.version);
}

/** A folder that lacks one of the two has no server, but perhaps the clients. */
async function inspect(folder: string): Promise<readonly Programs[]> {
  const [initdb, postgres] = [join(folder, "initdb"), join(folder, "postgres")];
  try {
    await Promise.all([initdb, postgres].map((program) => access(program, constants.X_OK)));
    const { stdout } = await run(postgres, ["--version"]);
    const version = Number(/\(PostgreSQL\) (\d+)/.exec(stdout)?.[1]);
    return Number.isInteger(version) ? [{ version, initdb, postgres }] : [];
  } catch {
    return [];
  }
}
