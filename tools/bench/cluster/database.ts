/** A PostgreSQL for several nodes, and what it counts: transactions by origin, and processor time. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import postgres from "postgres";
import { startPrivatePostgres } from "../../../server/store/private-postgres.ts";

/** USER_HZ of /proc/PID/stat. */
const TICKS_PER_SECOND = 100;

export interface BenchDatabase {
  /** For `DATABASE_URL`. */
  readonly url: string;
  /** Transactions so far, of all clients but this one. */
  countTransactions(): Promise<number>;
  /** Executed statements so far, by their text. */
  countStatements(): Promise<ReadonlyMap<string, number>>;
  /** Seconds of processor time so far, of all its processes. */
  cpuSeconds(): number;
  close(): Promise<void>;
}

export async function startDatabase(folder: string, connections: number): Promise<BenchDatabase> {
  const { address, pid, stop } = await startPrivatePostgres({
    ...{ dataDir: join(folder, "database"), connections, startSeconds: 60, stopSeconds: 20 },
    settings: { shared_preload_libraries: "pg_stat_statements", "pg_stat_statements.track": "top", autovacuum: "off" },
    log: pino({ level: "silent" }),
  });
  const { host, user, database } = address;
  // Its own database: its transactions are not counted.
  const options = { host, user, max: 1, onnotice() {} };
  const setup = postgres({ ...options, database });
  await setup`create extension if not exists pg_stat_statements`;
  await setup`create database bench_observer`.catch(() => {});
  await setup.end();
  const sql = postgres({ ...options, database: "bench_observer" });
  await sql`create extension if not exists pg_stat_statements`;
  return {
    url: `postgres:///${database}?host=${encodeURIComponent(host)}&user=${user}`,
    async countTransactions() {
      const [row] =
        await sql`select xact_commit + xact_rollback as count from pg_stat_database where datname = ${database}`;
      return Number(row?.count);
    },
    async countStatements() {
      const rows = await sql`
        select query, sum(calls) as calls from pg_stat_statements
        join pg_database on pg_database.oid = dbid where datname = ${database} group by query`;
      return new Map(rows.map(({ query, calls }) => [String(query), Number(calls)]));
    },
    cpuSeconds: () => listTree(pid).reduce((sum, one) => sum + readCpuTicks(one), 0) / TICKS_PER_SECOND,
    async close() {
      await sql.end();
      await stop();
    },
  };
}

function readCpuTicks(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "latin1")
      .replace(/^.*\) /, "")
      .split(" ");
    // With those of its children that have ended: connections that were closed.
    return [11, 12, 13, 14].reduce((sum, i) => sum + Number(fields[i]), 0);
  } catch {
    return 0;
  }
}

/** The process and its descendants. */
function listTree(root: number): readonly number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const fields = readFileSync(`/proc/${name}/stat`, "latin1")
        .replace(/^.*\) /, "")
        .split(" ");
      parents.set(Number(name), Number(fields[1]));
    } catch {
      // It has ended.
    }
  }
  const isBelow = (pid: number | undefined): boolean =>
    pid !== undefined && (pid === root || isBelow(parents.get(pid)));
  return [...parents.keys()].filter(isBelow);
}
