/**
 * Seals every secret in the database with the current key: those of an older version, which are not sealed, and those sealed
 * with an older key, which can be removed afterwards.
 */
import { canonicalJson } from "../../../schemas/json.ts";
import { DatabaseFault, type Queries, type Sql } from "../client.ts";
import { MIGRATION_LOCK } from "../migrate.ts";
import { type LoadedKeyring, prefixOf, readKeyId } from "./keyring.ts";

/** All columns of type varchar: see `client.ts`. A test compares them with the schema. */
export const SEALED_COLUMNS: Readonly<Record<string, readonly string[]>> = {
  sources: ["input_url", "telemetry_cfg", "identity"],
  outputs: ["url", "identity", "tak"],
  processes: ["telemetry_cfg"],
  alerts: ["output"],
  process_alerts: ["output"],
  subscriptions: ["notification_url", "auth_url", "secret"],
  event_subscriptions: ["output"],
  idempotency_keys: ["body"],
  destinations: ["target"],
  signing_keys: ["secret"],
};

const ALL_COLUMNS = Object.entries(SEALED_COLUMNS).flatMap(([table, columns]) =>
  columns.map((column) => ({ table, column })),
);
const BATCH = 1000;
const LIMIT = "5min";

/** Resolves with the number of secrets sealed. Rejects with `DatabaseFault` if a key is missing; then nothing has changed. */
export async function sealStored(sql: Sql, { keyring, place, isNew, keep }: LoadedKeyring): Promise<number> {
  return sql.begin(async (tx) => {
    await tx`select set_config('statement_timeout', ${LIMIT}, true), set_config('lock_timeout', ${LIMIT}, true)`;
    // Of several servers that start at once, one seals.
    await tx`select pg_advisory_xact_lock(${MIGRATION_LOCK})`;
    const used = await listKeyIds(tx);
    const missing = used.filter((id) => id !== null && !keyring.ids.includes(id));
    if (missing.length > 0) throw missingKey(missing.join(", "), isNew ? null : keyring.ids.join(", "), place);
    if (isNew) await keep();
    if (used.every((id) => id === keyring.currentId)) return 0;
    let count = 0;
    for (const { table, column } of ALL_COLUMNS) {
      const reseal = (text: string) =>
        keyring.seal(readKeyId(text) === null ? canonicalJson(JSON.parse(text)) : keyring.open(text));
      count += await resealColumn(tx, table, column, prefixOf(keyring.currentId), reseal);
    }
    return count;
  });
}

/** Null stands for secrets that are not sealed. */
async function listKeyIds(sql: Queries): Promise<readonly (string | null)[]> {
  const found = new Set<string | null>();
  for (const { table, column } of ALL_COLUMNS) {
    // The length of a prefix.
    const rows = await sql<{ start: string }[]>`
      select distinct left(${sql(column)}::text, 20) as start from ${sql(table)} where ${sql(column)} is not null`;
    for (const { start } of rows) found.add(readKeyId(start));
  }
  return [...found];
}

async function resealColumn(
  sql: Queries,
  table: string,
  column: string,
  prefix: string,
  reseal: (text: string) => string,
): Promise<number> {
  let count = 0;
  for (;;) {
    // As text, which the client neither opens nor seals.
    const rows = await sql<{ value: string }[]>`
      select distinct ${sql(column)}::text as value from ${sql(table)}
      where not starts_with(${sql(column)}, ${prefix}) limit ${BATCH}`;
    if (rows.length === 0) return count;
    const pairs = rows.map(({ value }) => ({ before: value, after: reseal(value) }));
    const { count: changed } = await sql`
      update ${sql(table)} set ${sql(column)} = pairs.after
      from jsonb_to_recordset(${sql.json(pairs)}) as pairs (before text, after text)
      where ${sql(column)}::text = pairs.before`;
    count += changed;
  }
}

const missingKey = (needed: string, given: string | null, place: string): DatabaseFault =>
  new DatabaseFault(
    `Secrets in this database (passwords of cameras and brokers, webhook secrets) are sealed with the key ${needed}. ` +
      (given === null ? `There is no key in ${place}. ` : `${place} has the key ${given} instead. `) +
      "Provide that key with secrets.key or secrets.key_file, or restore secrets.key in the data folder from its backup.",
  );
