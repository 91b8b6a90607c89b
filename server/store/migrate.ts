import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { DatabaseFault, type Queries, type Sql } from "./client.ts";

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
  /** A server that does not know it can work with it. */
  readonly isAdditive: boolean;
}

interface Plan {
  /** To apply, in order. */
  readonly due: readonly Migration[];
  /** Names of applied migrations that this version does not know and can work with. */
  readonly newer: readonly string[];
}

export interface Migrated {
  readonly applied: readonly string[];
  readonly newer: readonly string[];
}

interface MigrateOptions {
  /** Default: those of this version. */
  readonly migrations?: readonly Migration[];
  /** Other servers may use the database. */
  readonly isShared?: boolean;
}

const digest = (text: string): string => createHash("sha256").update(text).digest("hex");

/**
 * The first line of a migration is `-- additive` if servers that do not know it can work with it, else `-- breaking: REASON`.
 * Those up to 015 have no mark: every server that reads it knows them.
 */
const isAdditive = (text: string): boolean => text.startsWith("-- additive\n");
export const isMarked = (text: string): boolean => isAdditive(text) || text.startsWith("-- breaking: ");

export async function readMigrations(folder: URL = FOLDER): Promise<readonly Migration[]> {
  const names = (await readdir(folder)).filter((name) => FILE_NAME.test(name)).sort();
  return Promise.all(names.map(async (name) => ({ name, text: await readFile(new URL(name, folder), "utf8") })));
}

/** Throws `DatabaseFault` if the database has breaking migrations of another version, or other texts of these. */
export function planMigrations(migrations: readonly Migration[], applied: readonly Applied[]): Plan {
  const known = new Map(migrations.map((migration) => [migration.name, migration]));
  const newer: string[] = [];
  for (const { name, sha256, isAdditive } of applied) {
    const migration = known.get(name);
    if (migration === undefined && isAdditive) {
      newer.push(name);
      continue;
    }
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
  if (late === undefined) return { due, newer };
  throw new DatabaseFault(`The migration ${late.name} comes before ${last}, which was applied already: renumber it.`);
}

/** All or none, in one transaction. Of several servers that start at once, one migrates and the others wait. */
export async function migrate(sql: Sql, { migrations, isShared = false }: MigrateOptions = {}): Promise<Migrated> {
  const all = migrations ?? (await readMigrations());
  return sql.begin(async (tx) => {
    await tx`select set_config('statement_timeout', ${LIMIT}, true), set_config('lock_timeout', ${LIMIT}, true)`;
    await tx`select pg_advisory_xact_lock(${MIGRATION_LOCK})`;
    await tx`create table if not exists migrations (
      name text primary key, sha256 text not null, applied_at timestamptz(3) not null default now())`;
    // Only if it is missing: the statement would wait for a dump of the database that is running.
    const [column] = await tx`
      select from pg_attribute where attrelid = 'migrations'::regclass and attname = 'is_additive'`;
    if (column === undefined) await tx`alter table migrations add column is_additive boolean not null default false`;
    const before = await tx<Applied[]>`select name, sha256, is_additive from migrations order by name`;
    const { due, newer } = planMigrations(all, before);
    const breaking = due.find(({ text }) => !isAdditive(text));
    if (isShared && breaking !== undefined && before.some(({ name }) => name === NODES))
      await expectNobody(tx, breaking);
    for (const { name, text } of due) {
      await tx.unsafe(text);
      await tx`insert into migrations ${tx({ name, sha256: digest(text), isAdditive: isAdditive(text) })}`;
    }
    return { applied: due.map(({ name }) => name), newer };
  });
}

/** Since this migration, the database knows which servers use it. */
const NODES = "016-nodes.sql";

/** Servers that run would fail after a breaking migration. */
async function expectNobody(tx: Queries, { name }: Migration): Promise<void> {
  const [row] = await tx<{ count: number }[]>`select count(*) from nodes where lease_until > now()`;
  if (row === undefined || row.count === 0) return;
  throw new DatabaseFault(
    `The migration ${name} needs a database that no other server uses, and ${row.count} of an older version are running. ` +
      `Stop all of them, then start this version (a server that was killed counts for up to 15 s).`,
  );
}
