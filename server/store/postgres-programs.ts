import { access, constants, readdir } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseFault } from "./fault.ts";

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
  const versions = await listVersions();
  if (dataVersion !== null && !versions.includes(dataVersion)) {
    const found = versions.length === 0 ? "none is installed" : `only ${versions.join(", ")} is installed`;
    throw new DatabaseFault(
      `The database in ${folder} was made by PostgreSQL ${dataVersion}, and ${found}. Install postgresql-${dataVersion}, ` +
        `or carry the data over with pg_upgrade, or move that folder away to begin anew.`,
    );
  }
  const version = dataVersion ?? versions.filter((each) => each >= OLDEST)[0];
  if (version === undefined) {
    throw new DatabaseFault(
      `PostgreSQL ${OLDEST} or later was not found in ${DEBIAN_FOLDER}. Run \`npm start\`, which sets it up, or ` +
        "`sudo apt-get install postgresql-15`, or name a database by DATABASE_URL.",
    );
  }
  const bin = join(DEBIAN_FOLDER, String(version), "bin");
  return { version, initdb: join(bin, "initdb"), postgres: join(bin, "postgres") };
}

/** The newest first; a version whose server was not installed with it does not count. */
async function listVersions(): Promise<readonly number[]> {
  const names = await readdir(DEBIAN_FOLDER).catch(() => []);
  const usable = await Promise.all(
    names.map(async (name) => {
      const programs = ["initdb", "postgres"].map((program) => join(DEBIAN_FOLDER, name, "bin", program));
      const checks = programs.map((program) => access(program, constants.X_OK));
      return Promise.all(checks).then(
        () => [Number(name)],
        () => [],
      );
    }),
  );
  return usable
    .flat()
    .filter(Number.isInteger)
    .sort((a, b) => b - a);
}
