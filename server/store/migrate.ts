import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { DatabaseFault, type Sql } from "./client.ts";

const FOLDER = new URL("./migrations/", import.meta.url);
const FILE_NAME = /^\d{3}-[a-z0-9-]+\.sql$/;
/** Arbitrary, but must not change. */
export const MIGRATION_LOCK = 7_046_029_254;
const LIMIT = "5min";

interface Migration {
  readonly name: string;
  readonly text: string;
}

interface Applied {
  readonly name: string;
  readonly sha256: string;
}

const digest = (text: string): string => createHash("sha256").update(text).digest("hex");

export async function readMigrations(folder: URL = FOLDER): Promise<readonly Migration[]> {
  const names = (await readdir(folder)).filter((name) => FILE_NAME.test(name)).sort();
  return Promise.all(names.map(async (name) => ({ name, text: await readFile(new URL(name, folder), "utf8") })));
}

/** Migrations to apply, in order. Throws `DatabaseFault` if the database has others than these. */
export function planMigrations(migrations: readonly Migration[], applied: readonly Applied[]): readonly Migration[] {
  const known = new Map(migrations.map((migration) => [migration.name, migration]));
  for (const { name, sha256 } of applied) {
    const migration = known.get(name);
    if (migration === undefined) {
      throw new DatabaseFault(
        `The database was migrated by a newer Windhover: this version does not know the migration ${name}. ` +
          `Start the newer version, or use another database for this one.`,
      );
    }
    if (digest(migration.text) !== sha256) {
      throw new DatabaseFault(
        `The migration ${name} has changed since it was applied to this database. ` +
          `Restore the file, and put the change into a new migration.`,
      );
    }
  }
  const done = new Set(applied.map(({ name }) => name));
  const due = migrations.filter(({ name }) => !done.has(name));
  const last =
    applied
      .map(({ name }) => name)
      .sort()
      .at(-1) ?? "";
  const late = due.find(({ name }) => name < last);
  if (late === undefined) return due;
  throw new DatabaseFault(`The migration ${late.name} comes before ${last}, which was applied already: renumber it.`);
}

/** All or none, in one transaction. Of several servers that start at once, one migrates and the others wait. */
export async function migrate(sql: Sql, migrations?: readonly Migration[]): Promise<readonly string[]> {
  const all = migrations ?? (await readMigrations());
  return sql.begin(async (tx) => {
    await tx`select set_config('statement_timeout', ${LIMIT}, true), set_config('lock_timeout', ${LIMIT}, true)`;
    await tx`select pg_advisory_xact_lock(${MIGRATION_LOCK})`;
    await tx`create table if not exists migrations (
      name text primary key, sha256 text not null, applied_at timestamptz(3) not null default now())`;
    const due = planMigrations(all, await tx<Applied[]>`select name, sha256 from migrations`);
    for (const { name, text } of due) {
      await tx.unsafe(text);
      await tx`insert into migrations ${tx({ name, sha256: digest(text) })}`;
    }
    return due.map(({ name }) => name);
  });
}
